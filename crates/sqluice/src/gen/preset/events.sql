-- What devices send: some of them much more than others. The index is a device's own time series.

CREATE TABLE devices (
  id      INTEGER PRIMARY KEY,
  kind    TEXT NOT NULL,  -- gen: choice('thermometer': 50, 'meter': 30, 'door': 15, 'gateway': 5)
  version TEXT NOT NULL   -- gen: choice('2.4.1': 70, '2.4.0': 20, '2.3.7': 8, '1.9.0': 2)
);

CREATE TABLE events (
  id        INTEGER PRIMARY KEY,
  device_id INTEGER NOT NULL REFERENCES devices (id),  -- gen: choice(int(1, {devices/20}): 40, int(1, {devices}): 60)
  at        TEXT NOT NULL,                             -- gen: timestamp('2024-01-01 00:00:00', '2024-12-31 23:59:59')
  level     TEXT NOT NULL,                             -- gen: choice('info': 96, 'warning': 3, 'error': 1)
  value     REAL                                       -- gen: null(0.02, real(-20, 45))
);
CREATE INDEX events_device_id_at ON events (device_id, at);
