-- The facts, with the surrogate keys that were valid on their days.

CREATE MATERIALIZED VIEW trade_events AS
SELECT th_t_id AS t_id, th_dts AS dts, th_st_id AS st_id FROM trade_history
UNION ALL
SELECT t_id, t_dts, t_st_id FROM trade WHERE cdc_flag IS NOT NULL;

CREATE MATERIALIZED VIEW trade_lifecycles AS
SELECT t_id, min(dts) AS created, max(if(st_id IN ('CMPT', 'CNCL'), dts, NULL)) AS closed, count(*) AS events
FROM trade_events GROUP BY t_id;

CREATE MATERIALIZED VIEW trade_states AS
SELECT t_id, t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name, t_trade_price, t_chrg,
    t_comm, t_tax, batch_id
FROM (SELECT *, row_number() OVER (PARTITION BY t_id ORDER BY batch_id DESC, t_dts DESC) AS place FROM trade)
WHERE place = 1;

CREATE MATERIALIZED VIEW dim_trade AS
SELECT t.t_id AS trade_id, sk_broker_id, CAST(date_format(created, 'yyyyMMdd') AS INT) AS sk_create_date_id,
    CAST(date_format(created, 'HHmmss') AS INT) AS sk_create_time_id,
    CAST(date_format(closed, 'yyyyMMdd') AS INT) AS sk_close_date_id,
    CAST(date_format(closed, 'HHmmss') AS INT) AS sk_close_time_id, to_date(created) AS create_date, st_name AS status,
    tt_name AS type, tt_is_sell AS is_sell, t_is_cash AS cash_flag, sk_security_id, sk_company_id, symbol,
    t_qty AS quantity, t_bid_price AS bid_price, sk_customer_id, customer_id, sk_account_id, account_id,
    t_exec_name AS executed_by, t_trade_price AS trade_price, t_chrg AS fee, t_comm AS commission, t_tax AS tax, t.batch_id
FROM trade_states AS t JOIN trade_lifecycles AS l ON t.t_id = l.t_id
    JOIN status_type ON t_st_id = st_id JOIN trade_type ON t_tt_id = tt_id
    JOIN dim_security AS s ON t_s_symb = symbol
        AND to_date(created) >= s.effective_date AND to_date(created) < s.end_date
    JOIN dim_account AS a ON t_ca_id = account_id
        AND to_date(created) >= a.effective_date AND to_date(created) < a.end_date;

CREATE MATERIALIZED VIEW cash_daily AS
SELECT ct_ca_id, to_date(ct_dts) AS day, sum(ct_amt) AS amount, count(*) AS transactions, max(batch_id) AS batch_id
FROM cash_transaction GROUP BY ct_ca_id, to_date(ct_dts);

CREATE MATERIALIZED VIEW fact_cash_balances AS
SELECT sk_customer_id, customer_id, sk_account_id, account_id, CAST(date_format(day, 'yyyyMMdd') AS INT) AS sk_date_id,
    day, cash, c.batch_id
FROM (SELECT ct_ca_id, day, batch_id, sum(amount) OVER (PARTITION BY ct_ca_id ORDER BY day) AS cash FROM cash_daily) AS c
    JOIN dim_account AS a ON ct_ca_id = account_id AND day >= a.effective_date AND day < a.end_date;

CREATE MATERIALIZED VIEW fact_holdings AS
SELECT hh_h_t_id AS trade_id, hh_t_id AS current_trade_id, sk_customer_id, sk_account_id, sk_security_id, sk_company_id,
    symbol, customer_id, account_id, sk_close_date_id AS sk_date_id, sk_close_time_id AS sk_time_id,
    trade_price AS current_price, hh_before_qty AS before_holding, hh_after_qty AS current_holding, h.batch_id
FROM holding_history AS h JOIN dim_trade ON hh_t_id = dim_trade.trade_id;

CREATE MATERIALIZED VIEW watch_spans AS
SELECT w_c_id, w_s_symb, min(if(w_action = 'ACTV', w_dts, NULL)) AS placed, max(if(w_action = 'CNCL', w_dts, NULL)) AS removed,
    max(batch_id) AS batch_id
FROM watch_history GROUP BY w_c_id, w_s_symb;

CREATE MATERIALIZED VIEW fact_watches AS
SELECT sk_customer_id, customer_id, sk_security_id, w_s_symb AS symbol,
    CAST(date_format(placed, 'yyyyMMdd') AS INT) AS sk_date_placed,
    CAST(date_format(removed, 'yyyyMMdd') AS INT) AS sk_date_removed, w.batch_id
FROM watch_spans AS w
    JOIN dim_customer AS c ON w_c_id = customer_id
        AND to_date(placed) >= c.effective_date AND to_date(placed) < c.end_date
    JOIN dim_security AS s ON w_s_symb = symbol AND to_date(placed) >= s.effective_date AND to_date(placed) < s.end_date;

CREATE MATERIALIZED VIEW market_52_weeks PARTITIONED BY (month)
TBLPROPERTIES ('headwater.dependency.daily_market' = 'month = MONTH - 12 .. MONTH OF dm_month') AS
SELECT dm_s_symb, dm_date, dm_close, dm_high, dm_low, dm_vol, max(named_struct('high', dm_high, 'day', dm_date)) OVER year AS highest,
    min(named_struct('low', dm_low, 'day', dm_date)) OVER year AS lowest, batch_id, dm_month AS month
FROM daily_market
WINDOW year AS (PARTITION BY dm_s_symb ORDER BY dm_date RANGE BETWEEN INTERVAL 364 DAYS PRECEDING AND CURRENT ROW);

CREATE MATERIALIZED VIEW fact_market_history PARTITIONED BY (month) AS
SELECT sk_security_id, sk_company_id, symbol, CAST(date_format(dm_date, 'yyyyMMdd') AS INT) AS sk_date_id, dm_date AS day,
    CAST(if(eps <> 0, dm_close / eps, NULL) AS DECIMAL(12, 4)) AS pe_ratio,
    CAST(dividend / dm_close * 100 AS DECIMAL(12, 4)) AS yield, highest.high AS high_52_weeks,
    CAST(date_format(highest.day, 'yyyyMMdd') AS INT) AS sk_high_date, lowest.low AS low_52_weeks,
    CAST(date_format(lowest.day, 'yyyyMMdd') AS INT) AS sk_low_date, dm_close AS close_price, dm_high AS day_high,
    dm_low AS day_low, dm_vol AS volume, m.batch_id, m.month
FROM market_52_weeks AS m
    JOIN dim_security AS s ON dm_s_symb = symbol AND dm_date >= s.effective_date AND dm_date < s.end_date
    LEFT JOIN company_earnings AS e ON s.company_id = e.company_id AND dm_date >= e.valid_from AND dm_date < e.valid_until;
