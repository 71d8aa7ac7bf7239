/** Configuration in force and the health of the process. Types only. */

/** One key of GET /config. */
export interface ConfigItem {
  Key: string;
  /** As it may be shown; null = not set. */
  Value: string | null;
  Source: 'flag' | 'environment' | 'file' | 'default';
  Default: string | null;
  Meaning: string;
}

/** GET /config. */
export interface ConfigAnswer {
  Items: readonly ConfigItem[];
}

/** GET /healthz and /readyz. */
export interface HealthAnswer {
  Status: 'ok' | 'unavailable';
  Checks: readonly { Name: string; Ok: boolean; Detail: string }[];
}
