-- The counters of one budget in the window that runs, by name.
--
-- Names begin with the budget's; compared by bytes, so that those of one budget stand together. Made
-- while instances serve, and repeatable.

set lock_timeout = '15min';

drop index concurrently if exists budget_window_running;
create index concurrently budget_window_running on budget_window
    (org_id, window_start, (key collate "C"));
