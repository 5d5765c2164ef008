-- The tables and functions of studies; `postgres.py` says how they keep the guarantees, and fills in {schema}.

CREATE TABLE {schema}.version (version int NOT NULL);
CREATE TABLE {schema}.studies (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    metrics int NOT NULL,
    plans bigint NOT NULL DEFAULT 0,
    planned bigint NOT NULL DEFAULT 0,   -- pulls of all plans
    handed bigint NOT NULL DEFAULT 0,    -- pulls up to this one were handed out, or told without
    told bigint NOT NULL DEFAULT 0,
    call uuid NOT NULL,
    created timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);                -- room on the page for the next version of a row that changes all the time
CREATE TABLE {schema}.settings (
    study bigint NOT NULL REFERENCES {schema}.studies,
    number bigint GENERATED ALWAYS AS IDENTITY,
    settings text NOT NULL,
    call uuid NOT NULL UNIQUE,
    created timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (study, number)
);
CREATE TABLE {schema}.plans (
    study bigint NOT NULL REFERENCES {schema}.studies,
    number bigint NOT NULL,
    told bigint NOT NULL,
    first bigint NOT NULL,
    arms bigint[] NOT NULL,
    status text NOT NULL,
    call uuid NOT NULL,
    PRIMARY KEY (study, number)
);
CREATE TABLE {schema}.told (
    study bigint NOT NULL,               -- no foreign key: it would lock the study's row once more for each pull
    number bigint NOT NULL,
    pull bigint NOT NULL,
    measured float8[] NOT NULL,
    reason text NOT NULL,
    worker text NOT NULL,
    cluster text NOT NULL,               -- "" for one of its own
    at float8 NOT NULL,
    ended smallint NOT NULL,             -- how: 0 told, otherwise given up
    call uuid NOT NULL,
    PRIMARY KEY (study, number),
    UNIQUE (study, pull)
);
CREATE TABLE {schema}.late (             -- told after the pull had been given up; does not count
    study bigint NOT NULL,
    pull bigint NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    measured float8[] NOT NULL,
    reason text NOT NULL,
    worker text NOT NULL,
    at float8 NOT NULL,
    PRIMARY KEY (study, pull)
);
CREATE TABLE {schema}.leases (
    study bigint NOT NULL,
    pull bigint NOT NULL,
    worker text NOT NULL,
    deadline float8 NOT NULL,
    call uuid NOT NULL,
    PRIMARY KEY (study, pull)
);

CREATE FUNCTION {schema}.lock_study(of_study bigint, durable bool) RETURNS {schema}.studies
LANGUAGE plpgsql AS $body$
DECLARE
    found_study {schema}.studies;
BEGIN
    IF NOT durable THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    ELSIF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    SELECT * INTO found_study FROM {schema}.studies WHERE id = of_study FOR UPDATE;
    IF NOT FOUND THEN
        RAISE no_data_found USING MESSAGE = 'no such study';
    END IF;
    RETURN found_study;
END $body$;

-- Whether this call made the study.
CREATE FUNCTION {schema}.create_study(new_name text, new_metrics int, new_settings text, this_call uuid)
RETURNS bool LANGUAGE plpgsql AS $body$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    INSERT INTO {schema}.studies (name, metrics, call) VALUES (new_name, new_metrics, this_call)
    ON CONFLICT (name) DO NOTHING;
    IF FOUND THEN
        INSERT INTO {schema}.settings (study, settings, call)
        SELECT s.id, new_settings, this_call FROM {schema}.studies s WHERE s.name = new_name;
    END IF;
    RETURN EXISTS (SELECT FROM {schema}.studies s WHERE s.name = new_name AND s.call = this_call);
END $body$;

-- Whether the study has the new settings by this call: only after the settings given, and so many told pulls, if any are.
CREATE FUNCTION {schema}.amend(
    of_study bigint, new_settings text, after_settings text, after_told bigint, this_call uuid
) RETURNS bool LANGUAGE plpgsql AS $body$
DECLARE
    locked {schema}.studies := {schema}.lock_study(of_study, true);
BEGIN
    IF EXISTS (SELECT FROM {schema}.settings s WHERE s.call = this_call) THEN
        RETURN true;
    END IF;
    IF locked.told <> after_told OR after_settings <> (
        SELECT s.settings FROM {schema}.settings s WHERE s.study = of_study ORDER BY s.number DESC LIMIT 1
    ) THEN
        RETURN false;
    END IF;
    INSERT INTO {schema}.settings (study, settings, call) VALUES (of_study, new_settings, this_call);
    RETURN true;
END $body$;

-- The pulls, of those given, that this call wrote. They differ from each other; each has as many values as there are
-- metrics. Pulls are looked up by a subquery rather than a join, which may be planned as a pass over the whole log.
CREATE FUNCTION {schema}.tell(
    of_study bigint, pulls bigint[], flat_values float8[], reasons text[], workers text[], clusters text[],
    times float8[], ends smallint[], this_call uuid
) RETURNS SETOF bigint LANGUAGE plpgsql AS $body$
DECLARE
    locked {schema}.studies := {schema}.lock_study(of_study, true);
    m int := locked.metrics;
    written bigint;
BEGIN
    INSERT INTO {schema}.told
    SELECT of_study, locked.told + row_number() OVER (ORDER BY given.i), given.pull,
           flat_values[(given.i - 1) * m + 1 : given.i * m], given.reason, given.worker, given.cluster,
           given.at, given.ended, this_call
    FROM unnest(pulls, reasons, workers, clusters, times, ends) WITH ORDINALITY
        AS given (pull, reason, worker, cluster, at, ended, i)
    WHERE (SELECT t.number FROM {schema}.told t WHERE t.study = of_study AND t.pull = given.pull) IS NULL;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written > 0 THEN
        UPDATE {schema}.studies SET told = locked.told + written WHERE id = of_study;
        DELETE FROM {schema}.leases l WHERE l.study = of_study AND l.pull = ANY (pulls);
    END IF;
    IF written < cardinality(pulls) THEN
        INSERT INTO {schema}.late (study, pull, measured, reason, worker, at)
        SELECT of_study, given.pull, flat_values[(given.i - 1) * m + 1 : given.i * m], given.reason, given.worker, given.at
        FROM unnest(pulls, reasons, workers, times, ends) WITH ORDINALITY AS given (pull, reason, worker, at, ended, i)
        WHERE given.ended = 0
            AND (SELECT t.ended FROM {schema}.told t WHERE t.study = of_study AND t.pull = given.pull) <> 0
        ORDER BY given.i
        ON CONFLICT (study, pull) DO NOTHING;
    END IF;
    RETURN QUERY SELECT t.pull FROM {schema}.told t
        WHERE t.study = of_study AND t.pull = ANY (pulls) AND t.call = this_call;
END $body$;

CREATE FUNCTION {schema}.add_plan(
    of_study bigint, new_number bigint, seen bigint, first_pull bigint, new_arms bigint[], new_status text,
    this_call uuid
) RETURNS bool LANGUAGE plpgsql AS $body$
DECLARE
    locked {schema}.studies := {schema}.lock_study(of_study, true);
BEGIN
    IF new_number <> locked.plans + 1 OR first_pull <> locked.planned + 1 THEN
        RETURN EXISTS (
            SELECT FROM {schema}.plans p WHERE p.study = of_study AND p.number = new_number AND p.call = this_call
        );
    END IF;
    INSERT INTO {schema}.plans VALUES (of_study, new_number, seen, first_pull, new_arms, new_status, this_call);
    UPDATE {schema}.studies SET plans = new_number, planned = locked.planned + cardinality(new_arms)
    WHERE id = of_study;
    RETURN true;
END $body$;

-- Pulls that were given back, or that this very call has leased when it was made before; then new ones.
CREATE FUNCTION {schema}.hand_out(of_study bigint, most bigint, to_worker text, until float8, this_call uuid)
RETURNS SETOF bigint LANGUAGE plpgsql AS $body$
DECLARE
    locked {schema}.studies := {schema}.lock_study(of_study, true);
    again bigint;
    fresh bigint[];
BEGIN
    RETURN QUERY
    WITH free AS (
        SELECT l.pull FROM {schema}.leases l
        WHERE l.study = of_study AND (l.deadline = '-infinity' OR l.call = this_call)
        ORDER BY l.pull LIMIT most
    ), leased AS (
        UPDATE {schema}.leases l SET worker = to_worker, deadline = until, call = this_call
        FROM free WHERE l.study = of_study AND l.pull = free.pull
        RETURNING l.pull
    )
    SELECT leased.pull FROM leased ORDER BY leased.pull;
    GET DIAGNOSTICS again = ROW_COUNT;
    IF again < most AND locked.handed < locked.planned THEN
        SELECT coalesce(array_agg(next.pull ORDER BY next.pull), '{{}}') INTO fresh FROM (
            SELECT s.pull FROM generate_series(locked.handed + 1, locked.planned) AS s (pull)
            WHERE (SELECT t.number FROM {schema}.told t WHERE t.study = of_study AND t.pull = s.pull) IS NULL
            LIMIT most - again
        ) AS next;
        UPDATE {schema}.studies
        SET handed = CASE WHEN cardinality(fresh) < most - again THEN locked.planned ELSE fresh[cardinality(fresh)] END
        WHERE id = of_study;
        INSERT INTO {schema}.leases SELECT of_study, f.pull, to_worker, until, this_call FROM unnest(fresh) AS f (pull);
        RETURN QUERY SELECT f.pull FROM unnest(fresh) AS f (pull);
    END IF;
END $body$;

-- How many leases of a worker, of the pulls given if there are any, this call gave another deadline.
CREATE FUNCTION {schema}.renew(
    of_study bigint, of_worker text, until float8, of_pulls bigint[], this_call uuid
) RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
    locked {schema}.studies := {schema}.lock_study(of_study, false);
BEGIN
    UPDATE {schema}.leases l SET deadline = until, call = this_call
    WHERE l.study = of_study AND l.worker = of_worker AND l.deadline > '-infinity'
        AND (of_pulls IS NULL OR l.pull = ANY (of_pulls));
    RETURN (SELECT count(*) FROM {schema}.leases l WHERE l.study = of_study AND l.call = this_call);
END $body$;

-- Whether the study could be removed: nothing of it was told.
CREATE FUNCTION {schema}.forget(of_study bigint) RETURNS bool LANGUAGE plpgsql AS $body$
DECLARE
    locked {schema}.studies := {schema}.lock_study(of_study, true);
BEGIN
    IF locked.told > 0 THEN
        RETURN false;
    END IF;
    DELETE FROM {schema}.leases WHERE study = of_study;
    DELETE FROM {schema}.plans WHERE study = of_study;
    DELETE FROM {schema}.settings WHERE study = of_study;
    DELETE FROM {schema}.studies WHERE id = of_study;
    RETURN true;
END $body$;
