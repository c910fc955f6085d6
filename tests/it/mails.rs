//! Mails that do not leave: what the operator is told, and that it ends by itself.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use crate::{
    eventually::until,
    house::{House, Request, Service, Start},
};

/// A mail server on this machine, which takes letters or says that it takes none now.
async fn relay() -> (u16, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, takes) = (listener.local_addr().unwrap().port(), Arc::new(AtomicBool::new(false)));
    let taking = Arc::clone(&takes);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream, taking.load(SeqCst)));
        }
    });
    (port, takes)
}

async fn converse(stream: TcpStream, takes: bool) {
    let mut stream = BufReader::new(stream);
    let greeting = if takes { "220 here\r\n" } else { "421 not now\r\n" };
    drop(stream.get_mut().write_all(greeting.as_bytes()).await);
    let (mut line, mut is_text) = (String::new(), false);
    while takes && matches!(stream.read_line(&mut line).await, Ok(1..)) {
        let answer = match line.trim_end() {
            "." => "250 taken\r\n",
            _ if is_text => "",
            "DATA" => "354 go on\r\n",
            "QUIT" => "221 bye\r\n",
            _ => "250 yes\r\n",
        };
        is_text = line.trim_end() == "DATA" || is_text && line.trim_end() != ".";
        drop(stream.get_mut().write_all(answer.as_bytes()).await);
        line.clear();
    }
}

#[tokio::test]
async fn mails_that_do_not_leave_are_told_everywhere_until_they_do() {
    let Some(house) = House::new("server: { metrics_listen: '127.0.0.1:0' }\n").await else {
        return;
    };
    let (port, takes) = relay().await;
    // The relay is on this machine, where nothing else of the service may go.
    let verbs = house
        .verbs
        .with("SERVICE_MAIL_OUTBOX", "")
        .with("SERVICE_ALLOW_PRIVATE_NETWORKS", "false")
        .with("SERVICE_MAIL_SMTP", &format!("localhost:{port}"))
        .with("SERVICE_MAIL_TLS", "none")
        .with("SERVICE_MAIL_FROM", "chancery@chancery.example");
    let service = Service::start(&verbs, Start::Plain).await;
    let anonymous = service.anonymous();
    let health = async || anonymous.get("/v1/health").await.is(200);
    until("it is known", async || health().await["checks"]["mail"] == "degraded").await;
    assert_eq!(health().await["status"], "degraded");
    let page = |text: String, word: &str| assert!(text.contains(word), "{word}: {text}");
    page(service.metrics().await, "chancery_mail_up 0\n");
    let login = anonymous.send(Request::get("/login")).await;
    page(String::from_utf8(login.body.to_vec()).unwrap(), "Mail is delayed.");
    let check = verbs.output(&["check", "--json"]).await;
    let report: Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!((check.status.code(), &report["mail"]["state"]), (Some(1), &json!("fail")));
    let detail = report["mail"]["detail"].as_str().unwrap();
    assert!(detail.contains("421") && detail.contains("docs/runbook.md"), "{detail}");
    takes.store(true, SeqCst);
    until("mails leave", async || health().await["checks"]["mail"] == "ok").await;
    page(service.metrics().await, "chancery_mail_up 1\n");
    let lines = || {
        let told = |line: &&str| line.contains("server::outages") && line.contains("mail");
        service.log().lines().filter(told).map(str::to_owned).collect::<Vec<_>>()
    };
    until("it is told", async || lines().len() == 2).await;
    let [gone, back] = &lines()[..] else { panic!("{}", service.log()) };
    assert!(gone.contains("WARN") && gone.contains("421"), "{gone}");
    assert!(back.contains("INFO") && back.contains("mail is sent again"), "{back}");
    let check = verbs.output(&["check", "--json"]).await;
    let report: Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!(report["mail"], json!({ "name": "mail", "state": "ok", "detail": "" }));
}
