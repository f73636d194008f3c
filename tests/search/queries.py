"""What people ask of the corpus, and where the answer lies: `path`, or `path::name` for one symbol of it."""

from __future__ import annotations

from typing import NamedTuple


class Asked(NamedTuple):
    query: str
    target: str


def q(query: str, target: str) -> Asked:
    return Asked(query, target)


QUERIES: dict[str, list[Asked]] = {
    "a symbol": [
        q("verify_token", "kiosk/auth/tokens.py::verify_token"),
        q("OrderService", "kiosk/orders/service.py::OrderService"),
        q("place_order", "kiosk/orders/service.py::place_order"),
        q("Money", "kiosk/orders/models.py::Money"),
        q("Inventory", "warehouse/internal/stock/inventory.go::Inventory"),
        q("ErrOutOfStock", "warehouse/internal/stock/inventory.go::ErrOutOfStock"),
        q("LowWaterMark", "warehouse/internal/stock/inventory.go::LowWaterMark"),
        q("CartStore", "web/src/cart/CartStore.ts::CartStore"),
        q("formatMoney", "web/src/util/formatMoney.ts::formatMoney"),
        q("tokenize", "finder/src/index.rs::tokenize"),
        q("QueryError", "finder/src/query.rs::QueryError"),
        q("ACCESS_TOKEN_LIFETIME", "kiosk/auth/tokens.py::ACCESS_TOKEN_LIFETIME"),
        q("_signature", "kiosk/auth/tokens.py::_signature"),
    ],
    "a qualified name": [
        q("OrderService.cancel_order", "kiosk/orders/service.py::cancel_order"),
        q("Inventory.Reserve", "warehouse/internal/stock/inventory.go::Reserve"),
        q("stock.MovementRepository", "warehouse/internal/stock/repository.go::MovementRepository"),
        q("InvertedIndex::search", "finder/src/index.rs::search"),
        q("kiosk.auth.passwords.hash_password", "kiosk/auth/passwords.py::hash_password"),
        q("RateLimiter.allow()", "kiosk/http/middleware.py::allow"),
        q("HttpClient#post", "web/src/api/httpClient.ts::post"),
        q("http.Handler", "warehouse/internal/web/handler.go::Handler"),
        q("SqlOrderRepository.get", "kiosk/orders/repository.py::get"),
    ],
    "a path": [
        q("kiosk/http/router.py", "kiosk/http/router.py"),
        q("pricing.py", "kiosk/orders/pricing.py"),
        q("stock/inventory.go", "warehouse/internal/stock/inventory.go"),
        q("web/src/util/debounce.ts", "web/src/util/debounce.ts"),
        q("orders/models.py", "kiosk/orders/models.py"),
        q("docs/deployment.md", "docs/deployment.md"),
        q("Cargo.toml", "finder/Cargo.toml"),
    ],
    "an error": [
        q("ValueError: cannot place an empty order", "kiosk/orders/service.py::place_order"),
        q("stock: not enough left", "warehouse/internal/stock/inventory.go::ErrOutOfStock"),
        q("password must have at least 12 characters", "kiosk/auth/passwords.py::check"),
        q("unbalanced quote at column 7", "finder/src/query.rs"),
        q("Request failed with status 503", "web/src/api/httpClient.ts::ApiError"),
        q("kiosk.orders.models.CurrencyMismatch: cannot add USD to EUR", "kiosk/orders/models.py::plus"),
        q("unknown settings: prot", "kiosk/config.py::merge_settings"),
        q("409 out of stock", "warehouse/internal/web/handler.go::reserve"),
        q(
            "Traceback (most recent call last):\n"
            '  File "kiosk/http/middleware.py", line 33, in wrapped\n'
            '  File "kiosk/auth/tokens.py", line 37, in verify_token\n'
            "kiosk.auth.tokens.TokenExpired: token has expired",
            "kiosk/auth/tokens.py::verify_token",
        ),
        q(
            "Orders are charged twice\n\nWhen the payment API times out, the customer is charged a second time because "
            "place_order retries create_charge.",
            "kiosk/orders/service.py::place_order",
        ),
    ],
    "a question": [
        q("where are passwords hashed", "kiosk/auth/passwords.py::hash_password"),
        q("how is an access token signed", "kiosk/auth/tokens.py::issue_token"),
        q("limit requests per minute from one address", "kiosk/http/middleware.py::RateLimiter"),
        q("wait longer before each retry", "kiosk/retry.py::exponential_backoff"),
        q("stop calling a service that keeps failing", "kiosk/retry.py::CircuitBreaker"),
        q("remove sessions nobody used", "kiosk/auth/sessions.py::sweep"),
        q("lock an account after wrong passwords", "kiosk/auth/lockout.py"),
        q("value added tax for a country", "kiosk/orders/pricing.py::compute_tax"),
        q("refund the customer when an order is cancelled", "kiosk/orders/service.py::cancel_order"),
        q("read configuration from environment variables", "kiosk/config.py::read_environment"),
        q("match a request path to its handler", "kiosk/http/router.py"),
        q("set items aside for an order", "warehouse/internal/stock/inventory.go::Reserve"),
        q("graceful shutdown of the server", "warehouse/cmd/warehouse/main.go::waitForShutdown"),
        q("products that need to be reordered", "warehouse/internal/stock/inventory.go::NeedsReorder"),
        q("save the shopping cart in local storage", "web/src/cart/CartStore.ts"),
        q("get a new access token with the refresh token", "web/src/auth/useSession.ts::refreshAccessToken"),
        q("abort a fetch after a timeout", "web/src/api/httpClient.ts"),
        q("parse what the customer typed into a query", "finder/src/query.rs::parse_query"),
        q("score documents by how rare a word is", "finder/src/index.rs"),
        q("check the type of an uploaded image", "kiosk/http/uploads.py"),
        q("how do I roll back a release", "docs/deployment.md"),
        q("why is money stored as integers", "docs/decisions/0003-money-as-integers.md"),
        q("cross origin headers", "kiosk/http/middleware.py::allow_cross_origin"),
        q("orders of a customer, newest first", "kiosk/orders/repository.py::of_customer"),
    ],
    "another case, part of a name": [
        q("orderservice", "kiosk/orders/service.py::OrderService"),
        q("VerifyToken", "kiosk/auth/tokens.py::verify_token"),
        q("cartstore", "web/src/cart/CartStore.ts::CartStore"),
        q("format_money", "web/src/util/formatMoney.ts::formatMoney"),
        q("inverted index", "finder/src/index.rs::InvertedIndex"),
        q("redis session", "kiosk/auth/sessions.py::RedisSessionStore"),
        q("idf", "finder/src/index.rs::inverse_document_frequency"),
        q("auth middleware", "kiosk/http/middleware.py"),
        q("order repo", "kiosk/orders/repository.py::OrderRepository"),
        q("cfg settings", "kiosk/config.py"),
        q("debounce function", "web/src/util/debounce.ts::debounce"),
        q("class RateLimiter", "kiosk/http/middleware.py::RateLimiter"),
        q("test verify token rejects expired", "tests/test_tokens.py::test_verify_token_rejects_an_expired_token"),
        q("payments client", "kiosk/clients/generated/payments_client.py::PaymentsClient"),
    ],
}
