/** Where everything is stored. */

import { isPostgresUrl, readPostgresUrl, shownPostgresUrl } from '../../lib/postgres-url.ts';
import { bad, good, nonEmpty, parseSwitch, withoutUser } from '../forms.ts';
import { both, type KeyTable, key } from '../key-facts.ts';

export const DATABASE_KEYS = {
  // The value has the password, wherever that was given.
  database: {
    ...key(
      '`sqlite:PATH` or `postgres://user@host/name`',
      both('sqlite:'),
      'the store; `sqlite:` alone is `postrider.db` in the data folder',
      (t) => {
        if (isPostgresUrl(t)) {
          const read = readPostgresUrl(t);
          return read.ok ? good(t) : bad(read.fix);
        }
        return t.startsWith('sqlite:')
          ? good(t)
          : bad('use sqlite:, sqlite:PATH or postgres://user@host/name');
      },
    ),
    shown: (t) => (isPostgresUrl(t) ? shownPostgresUrl(t) : withoutUser(t)),
  },
  'database-password': {
    ...key(
      'text',
      both(null),
      'password of a PostgreSQL `database` whose URL has none; if not set, `PGPASSWORD`',
      (t) => nonEmpty(t, 'the password'),
    ),
    secret: true,
  },
  'shared-store': key(
    '`on` or `off`',
    both('off'),
    'other processes of this machine use the same SQLite database, each with its own data folder; must be `on` for all of them. PostgreSQL is always shared',
    parseSwitch,
  ),
} satisfies KeyTable;
