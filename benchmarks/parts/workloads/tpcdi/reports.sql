-- Reports over the dimensions and facts.

CREATE MATERIALIZED VIEW trades_monthly AS
SELECT month, status, type, count(*) AS trades, sum(quantity) AS quantity, sum(trade_price * quantity) AS volume
FROM dim_trade JOIN dim_date ON sk_create_date_id = sk_date_id GROUP BY month, status, type;

CREATE MATERIALIZED VIEW broker_commissions AS
SELECT t.sk_broker_id, b.branch, year_id, sum(commission) AS commission, sum(fee) AS fee, count(*) AS trades
FROM dim_trade AS t JOIN dim_broker AS b ON t.sk_broker_id = b.sk_broker_id JOIN dim_date ON sk_create_date_id = sk_date_id
WHERE t.status = 'Completed' GROUP BY t.sk_broker_id, b.branch, year_id;

CREATE MATERIALIZED VIEW branch_ranking AS
SELECT branch, year_id, commission, rank() OVER (PARTITION BY year_id ORDER BY commission DESC) AS place
FROM (SELECT branch, year_id, sum(commission) AS commission FROM broker_commissions GROUP BY branch, year_id);

CREATE MATERIALIZED VIEW customer_trading AS
SELECT customer_id, count(*) AS trades, sum(if(is_sell, 0, quantity * trade_price)) AS bought,
    sum(if(is_sell, quantity * trade_price, 0)) AS sold, sum(tax) AS tax, max(create_date) AS last_trade
FROM dim_trade GROUP BY customer_id;

CREATE MATERIALIZED VIEW customer_value AS
SELECT c.customer_id, c.tier, c.state_prov, c.marketing_nameplate, t.trades, t.bought, t.sold, t.last_trade
FROM dim_customer AS c JOIN customer_trading AS t ON c.customer_id = t.customer_id WHERE c.is_current;

CREATE MATERIALIZED VIEW tier_trading AS
SELECT tier, state_prov, count(*) AS customers, sum(trades) AS trades, sum(bought) AS bought, sum(sold) AS sold
FROM customer_value GROUP BY tier, state_prov;

CREATE MATERIALIZED VIEW security_holdings AS
SELECT symbol, sk_company_id, sum(current_holding) AS held, sum(current_holding * current_price) AS paid,
    count(DISTINCT customer_id) AS holders
FROM fact_holdings GROUP BY symbol, sk_company_id;

CREATE MATERIALIZED VIEW market_monthly PARTITIONED BY (month) AS
SELECT symbol, min(day_low) AS low, max(day_high) AS high, sum(volume) AS volume, avg(close_price) AS mean_price,
    max_by(close_price, day) AS last_price, month
FROM fact_market_history GROUP BY symbol, month;

CREATE MATERIALIZED VIEW industry_monthly PARTITIONED BY (month) AS
SELECT c.industry, c.sector, count(*) AS prices, sum(m.volume) AS volume, avg(m.pe_ratio) AS mean_pe_ratio, month
FROM fact_market_history AS m JOIN dim_company AS c ON m.sk_company_id = c.sk_company_id GROUP BY c.industry, c.sector, month;

CREATE MATERIALIZED VIEW portfolio_value AS
SELECT h.symbol, h.held, h.paid, h.held * p.price AS worth
FROM (SELECT symbol, sum(held) AS held, sum(paid) AS paid FROM security_holdings GROUP BY symbol) AS h
    JOIN (SELECT symbol, max_by(last_price, month) AS price FROM market_monthly GROUP BY symbol) AS p ON h.symbol = p.symbol;

CREATE MATERIALIZED VIEW cash_by_tier AS
SELECT c.tier, count(*) AS accounts, sum(b.cash) AS cash
FROM (SELECT account_id, max_by(sk_customer_id, day) AS sk_customer_id, max_by(cash, day) AS cash FROM fact_cash_balances
      GROUP BY account_id) AS b
    JOIN dim_customer AS c ON b.sk_customer_id = c.sk_customer_id
GROUP BY c.tier;

CREATE MATERIALIZED VIEW watch_popularity AS
SELECT symbol, count(*) AS watches, count_if(sk_date_removed IS NULL) AS active, count(DISTINCT customer_id) AS customers
FROM fact_watches GROUP BY symbol;

CREATE MATERIALIZED VIEW prospects_by_state AS
SELECT state, is_customer, count(*) AS prospects, sum(net_worth) AS net_worth, avg(income) AS income
FROM prospect GROUP BY state, is_customer;
