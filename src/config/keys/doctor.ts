/** What the doctor may ask beyond the zone and this machine. */

import { bad, good, splitList } from '../forms.ts';
import { both, type KeyTable, key } from '../key-facts.ts';

/** Their values, parsed. */
export interface DoctorConfig {
  'doctor-probe': readonly string[];
  'doctor-dnsbl': readonly string[];
  'doctor-clock': string | null;
}

/** Their forms, defaults and meanings. */
export const DOCTOR_KEYS: KeyTable<DoctorConfig> = {
  'doctor-probe': key(
    '`address:port` list',
    both(''),
    'mail servers of yours elsewhere that `doctor` tries to reach, to see whether port 25 is open outwards; nobody else is tried',
    (t) => {
      const list = splitList(t);
      const wrong = list.find((item) => !/^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\]):\d{1,5}$/i.test(item));
      return wrong === undefined ? good(list) : bad(`"${wrong}" is not address:port, e.g. 198.51.100.7:25`);
    },
  ),
  'doctor-dnsbl': {
    ...key(
      'list of zones',
      both(''),
      'block lists that `doctor` asks about the addresses mail leaves from, each with your key where the list gives one, e.g. `KEY.zen.dq.spamhaus.net`',
      (t) => {
        const list = splitList(t).map((item) => item.toLowerCase().replace(/\.$/, ''));
        const wrong = list.find((item) => !/^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/.test(item));
        return wrong === undefined ? good(list) : bad('one of them is not the zone of a block list');
      },
    ),
    secret: true,
  },
  'doctor-clock': key(
    'URL',
    both(null),
    'a web server of yours whose clock is right; `doctor` compares this one with it',
    (t) => (/^https?:\/\/[^/\s]+/.test(t) ? good(t) : bad('use a URL such as https://www.example.com/')),
  ),
};
