import { expect, it } from 'vitest';
import type { ConfigItem } from '../../../src/client/api-types.ts';
import { found } from './config-rows.ts';

const item = (
  Key: string,
  Source: ConfigItem['Source'],
  Value: string | null,
  Meaning: string,
): ConfigItem => ({
  ...{ Key, Source, Value, Default: null, Meaning },
});
const ITEMS = [
  item('data', 'default', './data', 'data folder'),
  item('http', 'flag', '127.0.0.1:8025', 'API listener'),
  item('hostname', 'file', 'mail.example.com', 'EHLO name'),
];
const keys = (text: string) => found(ITEMS, text).map(({ Key }) => Key);

it('shows what was set first', () => {
  expect(keys('')).toEqual(['http', 'hostname', 'data']);
});

it('finds every word in key, value, source or meaning, in any case', () => {
  expect(keys('LISTENER')).toEqual(['http']);
  expect(keys('postrider.json name')).toEqual(['hostname']);
  expect(keys('name listener')).toEqual([]);
});
