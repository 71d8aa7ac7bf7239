/**
 * The table of all keys, put together from its topics. The reference page, the flags of commands and
 * `postrider config` are made from it.
 */
import type { KeyTable } from './key-facts.ts';
import { ACCEPTANCE_KEYS, type AcceptanceConfig } from './keys/acceptance.ts';
import { DELIVERY_KEYS, type DeliveryConfig } from './keys/delivery.ts';
import { DOCTOR_KEYS, type DoctorConfig } from './keys/doctor.ts';
import { NAMES_KEYS, type NameConfig } from './keys/names.ts';
import { RETENTION_KEYS, type RetentionConfig } from './keys/retention.ts';
import { SERVER_KEYS, type ServerConfig } from './keys/server.ts';
import { TELLING_KEYS, type TellingConfig } from './keys/telling.ts';

/** The values of all keys. */
export interface Config
  extends ServerConfig,
    NameConfig,
    DeliveryConfig,
    DoctorConfig,
    AcceptanceConfig,
    TellingConfig,
    RetentionConfig {}

/** Name of a key, as it stands in `postrider.json`. */
export type ConfigKey = keyof Config;

/** Every key with its facts, in the order people are shown it. */
export const CONFIG_KEYS: KeyTable<Config> = {
  ...SERVER_KEYS,
  ...NAMES_KEYS,
  ...DELIVERY_KEYS,
  ...DOCTOR_KEYS,
  ...ACCEPTANCE_KEYS,
  ...TELLING_KEYS,
  ...RETENTION_KEYS,
};

/** Every key, in that order. */
export const CONFIG_NAMES = Object.keys(CONFIG_KEYS) as readonly ConfigKey[];

/** `max-age` → `POSTRIDER_MAX_AGE`; a twin with `_FILE` at its end names a file that holds the value. */
export function environmentName(name: ConfigKey): string {
  return `POSTRIDER_${name.toUpperCase().replaceAll('-', '_')}`;
}
