import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type UnitFacts, unitText } from './unit-file.ts';

const FACTS: UnitFacts = {
  program: [process.execPath, '/opt/postrider/bin/postrider'],
  data: '/var/lib/postrider',
  user: 'postrider',
  lowPorts: false,
  credentials: [],
};
const ODD: UnitFacts = {
  ...FACTS,
  data: '/srv/50% "mail" $HOME',
  lowPorts: true,
  credentials: [
    { key: 'tls-cert', file: '/etc/tls/a.pem' },
    { key: 'tls-key', file: '/etc/tls/a.key' },
    { key: 'http-certificate', file: '/etc/tls/b.pem' },
    { key: 'http-certificate-key', file: '/etc/tls/b.key' },
  ],
};

describe('unitText', () => {
  it('starts the server as its account, and gives it nothing that it does not need', () => {
    const text = unitText(FACTS);
    expect(text).toContain(
      `ExecStart=${process.execPath} /opt/postrider/bin/postrider serve --data /var/lib/postrider\n`,
    );
    expect(text).toContain('User=postrider\n');
    expect(text).not.toMatch(/AmbientCapabilities|LoadCredential/);
    expect(text).toContain('CapabilityBoundingSet=\n');
    expect(unitText({ ...FACTS, user: 'root' })).not.toContain('CapabilityBoundingSet');
    expect(text).toContain('\nSyslogIdentifier=postrider\nLogRateLimitBurst=1000000\n');
    // Without these, five failures in ten seconds would be the last attempt to start it.
    expect(text).toMatch(/\[Unit\][^[]*\nStartLimitIntervalSec=0\n[^[]*\[Service\][^[]*\nRestartSec=5\n/);
  });

  it('gives low ports and certificate files where they are needed, and escapes what systemd would replace', () => {
    const text = unitText(ODD);
    expect(text).toContain('AmbientCapabilities=CAP_NET_BIND_SERVICE\n');
    expect(text).toContain('CapabilityBoundingSet=CAP_NET_BIND_SERVICE\n');
    expect(text).toContain('LoadCredential=tls-key:/etc/tls/a.key\n');
    expect(text).toContain('--data "/srv/50%% \\"mail\\" $$HOME" --tls-cert');
    // Not `%d`, which systemd before 251 does not know in Environment=.
    expect(text).toMatch(
      / --tls-cert \$\{CREDENTIALS_DIRECTORY\}\/tls-cert --tls-key \$\{CREDENTIALS_DIRECTORY\}\/tls-key --http-certificate /,
    );
    expect(text).not.toContain('Environment=');
  });

  it('is what systemd takes', () => {
    const { status: none, stdout } = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' });
    if (none !== 0) {
      process.stderr.write('SKIPPED: the unit that setup writes: there is no systemd-analyze\n');
      return;
    }
    const folder = mkdtempSync(join(tmpdir(), 'postrider-unit-'));
    const file = join(folder, 'postrider.service');
    for (const facts of [FACTS, ODD]) {
      writeFileSync(file, unitText(facts));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, '']);
      // Older versions judge only units that run.
      if (Number(/\d+/.exec(stdout)?.[0]) < 250) continue;
      // From 0 to 100; a unit that confines nothing has 96.
      const exposure = ['security', '--offline=true', '--threshold=40', file];
      expect(spawnSync('systemd-analyze', exposure).status).toBe(0);
    }
    rmSync(folder, { recursive: true });
  });
});
