/** The macros of SPF: the examples of RFC 7208 §7.4, and what our mail cannot know. */
import { describe, expect, it } from 'vitest';
import { expandSpf, type SpfMacros } from './spf-macros.ts';

const MACROS: SpfMacros = {
  local: 'strong-bad',
  domain: 'email.example.com',
  current: 'email.example.com',
  from: { address: '192.0.2.3', ehlo: 'mx.example.org' },
};
const IPV6 = { address: '2001:db8::cb01', ehlo: 'mx.example.org' };

describe('RFC 7208 §7.4', () => {
  it.each([
    ['%{s}', 'strong-bad@email.example.com'],
    ['%{o}', 'email.example.com'],
    ['%{d}', 'email.example.com'],
    ['%{d4}', 'email.example.com'],
    ['%{d3}', 'email.example.com'],
    ['%{d2}', 'example.com'],
    ['%{d1}', 'com'],
    ['%{dr}', 'com.example.email'],
    ['%{d2r}', 'example.email'],
    ['%{l}', 'strong-bad'],
    ['%{l-}', 'strong.bad'],
    ['%{lr}', 'strong-bad'],
    ['%{lr-}', 'bad.strong'],
    ['%{l1r-}', 'strong'],
    ['%{ir}.%{v}._spf.%{d2}', '3.2.0.192.in-addr._spf.example.com'],
    ['%{lr-}.lp._spf.%{d2}', 'bad.strong.lp._spf.example.com'],
    ['%{lr-}.lp.%{ir}.%{v}._spf.%{d2}', 'bad.strong.lp.3.2.0.192.in-addr._spf.example.com'],
    ['%{ir}.%{v}.%{l1r-}.lp._spf.%{d2}', '3.2.0.192.in-addr.strong.lp._spf.example.com'],
    ['%{d2}.trusted-domains.example.net', 'example.com.trusted-domains.example.net'],
  ])('%s → %s', (text, expected) => {
    expect(expandSpf(text, MACROS)).toBe(expected);
  });

  it('of an IPv6 address', () => {
    expect(expandSpf('%{ir}.%{v}._spf.%{d2}', { ...MACROS, from: IPV6 })).toBe(
      '1.0.b.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6._spf.example.com',
    );
  });
});

describe('RFC 7208 §7.2 and §7.3', () => {
  it.each([
    ['a%%b%_c%-d.example', 'a%b c%20d.example'],
    ['%{h}', 'mx.example.org'],
    ['%{D2}', 'example.com'],
    ['%{S}', 'strong-bad%40email.example.com'],
  ])('%s → %s', (text, expected) => {
    expect(expandSpf(text, MACROS)).toBe(expected);
  });

  it('escapes what is not unreserved, in octets of UTF-8', () => {
    expect(expandSpf('%{L}', { ...MACROS, local: "a*b'ü~_" })).toBe('a%2Ab%27%C3%BC~_');
  });
});

describe('what is not known', () => {
  const ours: SpfMacros = { ...MACROS, local: null };
  it.each(['%{l}', '%{L}', '%{s}', '%{S}', '%{s1r}', '%{sr}', '%{l1r-}.x', '%{p}', '%{p1}.example'])(
    '%s',
    (text) => {
      expect(expandSpf(text, ours)).toBeNull();
    },
  );

  it('does not matter where nothing of it is left', () => {
    expect(expandSpf('%{s2}', ours)).toBe('example.com');
  });

  it.each(['%{i}', '%{v}', '%{h}', '%{p}'])('%s without a source', (text) => {
    expect(expandSpf(text, { ...MACROS, from: null })).toBeNull();
  });
});
