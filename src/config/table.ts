/**
 * The table of all keys, combined from its topics. The reference page, the flags of commands and `postrider config` are
 * made from it.
 */
import type { ValuesOf } from './key-facts.ts';
import { ACCEPTANCE_KEYS } from './keys/acceptance.ts';
import { DATABASE_KEYS } from './keys/database.ts';
import { DELIVERY_KEYS } from './keys/delivery.ts';
import { DOCTOR_KEYS } from './keys/doctor.ts';
import { NAMES_KEYS } from './keys/names.ts';
import { RETENTION_KEYS } from './keys/retention.ts';
import { SERVER_KEYS } from './keys/server.ts';
import { SIGN_IN_KEYS } from './keys/sign-in.ts';
import { TELLING_KEYS } from './keys/telling.ts';

/** Every key, in the order in which they are shown. */
export const CONFIG_KEYS = {
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

/** The values of all keys. */
export type Config = ValuesOf<typeof CONFIG_KEYS>;

/** Name of a key, as in `postrider.json`. */
export type ConfigKey = keyof Config;

/** Every key, in that order. */
export const CONFIG_NAMES = Object.keys(CONFIG_KEYS) as readonly ConfigKey[];

/** `max-age` → `POSTRIDER_MAX_AGE`. With `_FILE` at its end, it names a file that contains the value. */
export function environmentName(name: ConfigKey): string {
  return `POSTRIDER_${name.toUpperCase().replaceAll('-', '_')}`;
}
