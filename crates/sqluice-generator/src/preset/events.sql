-- What devices send, in the order of time: some of them much more than others, each once it is installed. The index is a device's own
-- time series.

CREATE TABLE devices (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL,  -- gen: template('{kind}-{id}')
  kind      TEXT NOT NULL,  -- gen: choice('thermometer': 50, 'meter': 30, 'door': 15, 'gateway': 5)
  version   TEXT NOT NULL,  -- gen: choice('2.4.1': 70, '2.4.0': 20, '2.3.7': 8, '1.9.0': 2)
  city      TEXT NOT NULL,  -- gen: city()
  installed TEXT NOT NULL   -- gen: date('2019-01-01', '2024-12-31')
);

CREATE TABLE events (
  id        INTEGER PRIMARY KEY,
  device_id INTEGER NOT NULL REFERENCES devices (id),  -- gen: ref(devices.id, zipf(0.8))
  at        TEXT NOT NULL,                             -- gen: ascending(timestamp('2025-01-01 00:00:00', '2025-12-31 23:59:59'))
  level     TEXT NOT NULL,                             -- gen: choice('info': 96, 'warning': 3, 'error': 1)
  value     REAL                                       -- gen: case(when device_id.kind = 'thermometer' then decimal(-10, 35, 1) when device_id.kind = 'meter' then decimal(0, 3_500, 1) when device_id.kind = 'door' then int(0, 1))
);
CREATE INDEX events_device_id_at ON events (device_id, at);
