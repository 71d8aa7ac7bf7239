import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { StoreRefused } from '../store/shared/refusal.ts';
import { StoreUnavailable } from '../store/store.ts';
import { explainStart } from './start-errors.ts';

const { config } = loadConfig('serve', { data: '/srv/mail', submission: '127.0.0.1:587' }, {});

function failure(facts: Partial<NodeJS.ErrnoException> & { port?: number }): Error {
  return Object.assign(new Error(`${facts.code}: the error of the operating system`), facts);
}

describe('explainStart', () => {
  it.each([
    ['EADDRINUSE', 8025, /^127\.0\.0\.1:8025 is already in use; .*--http 127\.0\.0\.1:8026$/],
    ['EADDRINUSE', 587, /^127\.0\.0\.1:587 is already in use; .*--submission 127\.0\.0\.1:588$/],
    ['EADDRNOTAVAIL', 8025, /is not an address of this machine; .*--http/],
    ['EACCES', 587, /permission denied.*CAP_NET_BIND_SERVICE.*--submission/],
  ])('says of %s at port %d which flag chooses another', (code, port, sentence) => {
    expect(explainStart(failure({ code, port, syscall: 'listen' }), config).message).toMatch(sentence);
  });

  it.each([
    ['EACCES', 'mkdir', '/srv/mail', 'permission denied'],
    ['ENOTDIR', 'mkdir', '/srv/mail', 'part of the path is a file, not a folder'],
    ['EACCES', 'open', '/srv/mail/secret-key', 'permission denied'],
    ['ENOENT', 'mkdir', '/srv/mail', 'it cannot be made there'],
    ['EROFS', 'open', '/srv/mail/.node-id.new', 'read-only'],
    ['EISDIR', 'open', '/srv/mail/postrider.log', 'it is a folder'],
  ])('says of %s at %s %s that the data folder is to blame', (code, syscall, path, why) => {
    const { message } = explainStart(failure({ code, syscall, path }), config);
    expect(message).toContain('the data folder /srv/mail cannot be used: ');
    expect(message).toContain(why);
    expect(message).toContain('--data');
  });

  it('does not tell to make a folder that is there, or that no permission would help', () => {
    const there = loadConfig('serve', { data: tmpdir() }, {}).config;
    const denied = failure({ code: 'EACCES', syscall: 'open', path: `${tmpdir()}/secret-key` });
    expect(explainStart(denied, there).message).toContain('Give all in it to the user that runs postrider');
    const readOnly = failure({ code: 'EROFS', syscall: 'open', path: `${tmpdir()}/node-id` });
    expect(explainStart(readOnly, there).message).toContain('Let the system write there');
    const missing = failure({ code: 'EACCES', syscall: 'mkdir', path: '/srv/mail' });
    expect(explainStart(missing, config).message).toContain('Make the folder');
  });

  it('says of a full disk which one it is', () => {
    const { message } = explainStart(failure({ code: 'ENOSPC', syscall: 'write' }), config);
    expect(message).toBe('the disk of the data folder /srv/mail is full; free some space, then start again');
    const full = new StoreRefused('locked', '/srv/mail/db-lock cannot be locked: database or disk is full');
    expect(explainStart(full, config).message).toBe(message);
    const unavailable = new StoreUnavailable('The store cannot work: the disk is full');
    expect(explainStart(unavailable, config).message).toBe(message);
  });

  it('says of a disk without inodes that space is not what it lacks', () => {
    const full = failure({ code: 'ENOSPC', syscall: 'mkdir', path: '/srv/mail' });
    expect(explainStart(full, config, () => true).message).toMatch(
      /has space, but no inodes .*\(df -i\); remove/,
    );
  });

  it('gives a sentence without a stack of a database that went away', () => {
    const away = new StoreUnavailable('The store cannot work: the database cannot be reached');
    expect(explainStart(away, config)).toMatchObject({ name: 'Error', message: away.message });
  });

  it('gives back what it does not know', () => {
    const other = new Error('something else');
    expect(explainStart(other, config)).toBe(other);
    const elsewhere = failure({ code: 'EACCES', syscall: 'open', path: '/etc/tls/key.pem' });
    expect(explainStart(elsewhere, config)).toBe(elsewhere);
  });
});
