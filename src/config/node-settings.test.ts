import { describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { differingSettings } from '../model/node.ts';
import { settingDigests } from './node-settings.ts';

const KEY = new Uint8Array(32).fill(7);

const digests = (settings: Record<string, string>) =>
  settingDigests(loadConfig('serve', { data: '/nowhere', hostname: 'a.example', ...settings }, {}), KEY);

describe('settings of nodes', () => {
  it('differ where mail would be treated differently', () => {
    const relay = { route: 'smtp://user:one@relay.example:587' };
    const other = { route: 'smtp://user:two@relay.example:587', 'max-age': '3d' };
    expect(differingSettings(digests(relay), digests(other)).toSorted()).toEqual(['max-age', 'route']);
    expect(differingSettings(digests(relay), digests(relay))).toEqual([]);
  });

  it('may differ in what belongs to a machine', () => {
    const own = {
      http: '127.0.0.1:9000',
      hostname: 'b.example',
      roles: 'http',
      'node-name': 'b',
      data: '/elsewhere',
    };
    expect(differingSettings(digests({}), digests(own))).toEqual([]);
  });

  it('cannot be guessed from what is stored', () => {
    const password = 'smtp://user:guess@relay.example:587';
    const otherKey = settingDigests(
      loadConfig('serve', { data: '/nowhere', route: password }, {}),
      new Uint8Array(32),
    );
    expect(digests({ route: password }).route).not.toBe(otherKey.route);
  });

  it('are not compared where one does not know them', () => {
    expect(differingSettings({ route: 'a', 'new-key': 'b' }, { route: 'a' })).toEqual([]);
  });
});
