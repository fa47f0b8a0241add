-- What batch {batch} appends and corrects. {date} is its date.

INSERT INTO batch_date SELECT {batch}, {date};

INSERT INTO customer
SELECT 'I', 1000 * {batch} + row_number() OVER (ORDER BY c_id), c_id + 10000000 * {batch}, 'ACTV', c_tax_id, c_gndr, c_tier,
    c_dob, concat(c_l_name, '{batch}'), c_f_name, c_m_name, c_adline1, c_adline2, c_zipcode, c_city, c_state_prov, c_ctry,
    c_prim_email, c_ctry_1, c_area_1, c_local_1, c_lcl_tx_id, c_nat_tx_id, {batch}
FROM customer_mgmt WHERE action_type = 'NEW' AND pmod(xxhash64(c_id, 'copied'), {part}) = {batch}
UNION ALL
SELECT 'U', 500000 + 1000 * {batch} + row_number() OVER (ORDER BY c_id), c_id, 'ACTV', c_tax_id, c_gndr, 1 + c_tier % 3,
    c_dob, c_l_name, c_f_name, c_m_name, concat('{batch} Batch Street'), c_adline2, c_zipcode, c_city, c_state_prov, c_ctry,
    c_prim_email, c_ctry_1, c_area_1, c_local_1, c_lcl_tx_id, c_nat_tx_id, {batch}
FROM customer_mgmt WHERE action_type = 'NEW' AND pmod(xxhash64(c_id, 'updated'), {part}) = {batch};

INSERT INTO account
SELECT 'I', 1000 * {batch} + row_number() OVER (ORDER BY c_id), c_id, 1 + c_id % 100, c_id, concat('Account of ', c_l_name),
    1, 'ACTV', {batch}
FROM customer WHERE batch_id = {batch} AND cdc_flag = 'I'
UNION ALL
SELECT 'U', 500000 + 1000 * {batch} + row_number() OVER (ORDER BY ca_id), ca_id, 1 + (ca_b_id + 7) % 100, c_id, ca_name,
    ca_tax_st, 'ACTV', {batch}
FROM customer_mgmt WHERE action_type = 'ADDACCT' AND pmod(xxhash64(ca_id, 'updated'), {part}) = {batch};

-- Trades that come, and older ones that end: all that came the day before, and some of batch 1 that were open.
INSERT INTO trade
SELECT 'I', 1000000 * {batch} + row_number() OVER (ORDER BY t_id), t_id + 100000000 * {batch},
    CAST({date} AS TIMESTAMP) + make_interval(0, 0, 0, 0, 9, CAST(t_id % 360 AS INT)), if(tt_is_mrkt, 'SBMT', 'PNDG'),
    t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name, NULL, NULL, NULL, NULL, {batch}
FROM trade JOIN trade_type ON t_tt_id = tt_id
WHERE batch_id = 1 AND pmod(xxhash64(t_id, 'copied'), {part}) = {batch}
UNION ALL
SELECT 'U', 5000000 * {batch} + row_number() OVER (ORDER BY t_id), t_id,
    CAST({date} AS TIMESTAMP) + make_interval(0, 0, 0, 0, 16, CAST(t_id % 60 AS INT)), if(t_id % 9 = 0, 'CNCL', 'CMPT'),
    t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name, t_bid_price, 12.50,
    CAST(t_bid_price * t_qty / 1000 AS DECIMAL(10, 2)), CAST(t_bid_price * t_qty / 100 AS DECIMAL(10, 2)), {batch}
FROM trade WHERE t_st_id IN ('SBMT', 'PNDG')
    AND (batch_id = 1 AND pmod(xxhash64(t_id, 'ended'), {part}) = {batch} OR batch_id = {batch} - 1 AND cdc_flag = 'I');

INSERT INTO holding_history
SELECT t_id, t_id, if(tt_is_sell, t_qty, 0), if(tt_is_sell, 0, t_qty), {batch}
FROM trade JOIN trade_type ON t_tt_id = tt_id WHERE batch_id = {batch} AND t_st_id = 'CMPT';

INSERT INTO cash_transaction
SELECT t_ca_id, t_dts, CAST(if(tt_is_sell, 1, -1) * t_qty * t_trade_price AS DECIMAL(15, 2)), 'settlement', {batch}
FROM trade JOIN trade_type ON t_tt_id = tt_id WHERE batch_id = {batch} AND t_st_id = 'CMPT' AND t_is_cash
UNION ALL
SELECT ct_ca_id, CAST({date} AS TIMESTAMP) + INTERVAL 9 HOURS, ct_amt, 'deposit', {batch}
FROM cash_transaction WHERE batch_id = 1 AND ct_name = 'deposit' AND pmod(xxhash64(ct_ca_id, ct_dts), {part}) = {batch};

INSERT INTO watch_history
SELECT w_c_id, w_s_symb, CAST({date} AS TIMESTAMP) + INTERVAL 11 HOURS, 'CNCL', {batch}
FROM watch_history GROUP BY w_c_id, w_s_symb
HAVING count_if(w_action = 'CNCL') = 0 AND pmod(xxhash64(w_c_id, w_s_symb), {part}) = {batch}
UNION ALL
SELECT c_id, format_string('SYM%04d', 1 + n), CAST({date} AS TIMESTAMP) + INTERVAL 10 HOURS, 'ACTV', {batch}
FROM customer LATERAL VIEW explode(sequence(0, 4)) AS n WHERE batch_id = {batch} AND cdc_flag = 'I';

INSERT INTO daily_market
SELECT {date}, dm_s_symb, CAST(dm_close * (1 + pmod(xxhash64(dm_s_symb, {date}), 60) / 1000) AS DECIMAL(8, 2)),
    CAST(dm_high * 1.06 AS DECIMAL(8, 2)), CAST(dm_low * 0.99 AS DECIMAL(8, 2)), dm_vol + {batch}, {batch},
    trunc({date}, 'MM')
FROM daily_market WHERE dm_date = {first};

-- A price of the day before was wrong.
UPDATE daily_market SET dm_close = CAST(dm_close + 0.01 AS DECIMAL(8, 2))
WHERE dm_date = date_sub({date}, 1) AND dm_month = trunc({date}, 'MM') AND pmod(xxhash64(dm_s_symb, {batch}), {part}) = 1;

MERGE INTO prospect_source AS old
USING (SELECT agency_id, income + 1000 * {batch} AS income, number_cars + 1 AS number_cars FROM prospect_source
       WHERE pmod(xxhash64(agency_id), {part}) = {batch}) AS new
ON old.agency_id = new.agency_id
WHEN MATCHED THEN UPDATE SET income = new.income, number_cars = new.number_cars, update_batch = {batch};
