-- The deliveries of an endpoint that were not accepted: they are few among many, and the Console counts
-- them and lists them by status.

create index webhook_delivery_status on webhook_delivery (org_id, webhook_id, status, id desc)
    where status <> 'delivered';
