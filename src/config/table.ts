/**
 * The table of all keys, combined from its topics. The reference page, the flags of commands and `postrider config` are
 * made from it.
 */
import type { KeyTable } from './key-facts.ts';
import { ACCEPTANCE_KEYS, type AcceptanceConfig } from './keys/acceptance.ts';
import { DATABASE_KEYS, type DatabaseConfig } from './keys/database.ts';
import { DELIVERY_KEYS, type DeliveryConfig } from './keys/delivery.ts';
import { DOCTOR_KEYS, type DoctorConfig } from './keys/doctor.ts';
import { NAMES_KEYS, type NameConfig } from './keys/names.ts';
import { RETENTION_KEYS, type RetentionConfig } from './keys/retention.ts';
import { SERVER_KEYS, type ServerConfig } from './keys/server.ts';
import { SIGN_IN_KEYS, type SignInConfig } from './keys/sign-in.ts';
import { TELLING_KEYS, type TellingConfig } from './keys/telling.ts';

/** The values of all keys. */
export interface Config
  extends ServerConfig,
    DatabaseConfig,
    NameConfig,
    DeliveryConfig,
    DoctorConfig,
    AcceptanceConfig,
    SignInConfig,
    TellingConfig,
    RetentionConfig {}

/** Name of a key, as in `postrider.json`. */
export type ConfigKey = keyof Config;

/** Every key, in the order in which they are shown. */
export const CONFIG_KEYS: KeyTable<Config> = {
  ...SERVER_KEYS,
  ...DATABASE_KEYS,
  ...SIGN_IN_KEYS,
  ...NAMES_KEYS,
  ...DELIVERY_KEYS,
  ...DOCTOR_KEYS,
  ...ACCEPTANCE_KEYS,
  ...TELLING_KEYS,
  ...RETENTION_KEYS,
};

/** Every key, in that order. */
export const CONFIG_NAMES = Object.keys(CONFIG_KEYS) as readonly ConfigKey[];

/** `max-age` → `POSTRIDER_MAX_AGE`. With `_FILE` at its end, it names a file that contains the value. */
export function environmentName(name: ConfigKey): string {
  return `POSTRIDER_${name.toUpperCase().replaceAll('-', '_')}`;
}
