import { describe, expect, it } from 'vitest';
import { quotedStrings, relativeHost } from '../../../src/policy/domains/dns-records.ts';
import { DNS_HOSTS, nameFor, stringsOf, valueFor, zonesOf } from './dns-hosts.ts';

const KEY = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`;
const PLAIN = { ...DNS_HOSTS[0], names: 'short', texts: 'plain' } as const;

describe('a record for a DNS host', () => {
  it('has the name that its form wants', () => {
    expect(zonesOf('news.shop.example.com')).toEqual([
      'news.shop.example.com',
      'shop.example.com',
      'example.com',
    ]);
    expect(zonesOf('example.com')).toEqual(['example.com']);
    const host = 'pr1._domainkey.news.example.com';
    expect(nameFor(host, 'news.example.com', 'short')).toBe('pr1._domainkey');
    expect(nameFor(host, 'example.com', 'short')).toBe('pr1._domainkey.news');
    expect(nameFor(host, 'example.com', 'full')).toBe(host);
    expect(nameFor(host, 'example.com', 'absolute')).toBe(`${host}.`);
    expect(nameFor('example.com', 'example.com', 'short')).toBe('@');
    // As the command line says it.
    for (const zone of ['news.example.com', 'example.com'])
      expect(nameFor(host, zone, 'short')).toBe(relativeHost(host, zone));
    expect(nameFor('evilexample.com', 'example.com', 'short')).toBe('evilexample.com');
  });

  it('has a text in one piece, or in quoted strings of 255 characters as in a zone file', () => {
    expect(stringsOf('')).toEqual(['']);
    expect(stringsOf('a'.repeat(255))).toHaveLength(1);
    expect(stringsOf(KEY).map(({ length }) => length)).toEqual([255, KEY.length - 255]);
    expect(valueFor({ Type: 'TXT', Value: KEY }, PLAIN)).toBe(KEY);
    const quoted = valueFor({ Type: 'TXT', Value: KEY }, { ...PLAIN, texts: 'quoted' });
    expect(`( ${quoted} )`).toBe(quotedStrings(KEY));
    expect(valueFor({ Type: 'TXT', Value: 'a"b\\' }, { ...PLAIN, texts: 'quoted' })).toBe('"a\\"b\\\\"');
    expect(valueFor({ Type: 'CNAME', Value: 'mail.example' }, { ...PLAIN, names: 'absolute' })).toBe(
      'mail.example.',
    );
    expect(valueFor({ Type: 'MX', Value: '10 mail.example' }, PLAIN)).toBe('10 mail.example');
  });
});
