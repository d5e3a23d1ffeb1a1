//! HTTP answers without a Content-Length.
//!
//! `object_store` refuses answers without a Content-Length. A server that generates an answer while sending it does not know its length,
//! and marks the end instead, in chunks or frames. Such an answer gets a length of 0 here, which stands for an unknown size. An answer
//! whose end is only marked by the end of its connection remains refused: a broken connection would look like the end.

use std::future::Future;
use std::pin::Pin;

use http::{HeaderValue, Method, StatusCode, Version, header};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};

/// A connector whose clients accept answers of unknown size.
#[derive(Debug)]
pub(crate) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Client(ReqwestConnector::default().connect(options)?)))
    }
}

#[derive(Debug)]
struct Client(HttpClient);

impl HttpService for Client {
    fn call<'client, 'answer>(
        &'client self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'answer>>
    where
        'client: 'answer,
        Self: 'answer,
    {
        Box::pin(async move {
            let reads = request.method() == Method::GET;
            let mut answer = self.0.execute(request).await?;
            let has_end = answer.headers().contains_key(header::TRANSFER_ENCODING)
                || answer.version() >= Version::HTTP_2
                || answer.status() == StatusCode::PARTIAL_CONTENT;
            if reads && has_end && !answer.headers().contains_key(header::CONTENT_LENGTH) {
                answer.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
            }
            Ok(answer)
        })
    }
}
