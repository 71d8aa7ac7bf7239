import { describe, expect, it } from 'vitest';
import { readPostgresUrl, shownPostgresUrl, withPassword } from './postgres-url.ts';

function addressOf(url: string) {
  const read = readPostgresUrl(url);
  if (!read.ok) throw new Error(read.fix);
  return read.address;
}

function fixOf(url: string): string {
  const read = readPostgresUrl(url);
  return read.ok ? '(none)' : read.fix;
}

describe('the URL of a PostgreSQL database', () => {
  it('names the hosts in their order, the login and the database', () => {
    expect(addressOf('postgres://mail:s3cret@db.example.com/postrider')).toEqual({
      hosts: [{ host: 'db.example.com', port: 5432 }],
      ...{ user: 'mail', password: 's3cret', database: 'postrider', tls: 'require' },
      ...{ rootCertificate: null, certificate: null, key: null },
    });
    expect(addressOf('postgresql://u@a:6000,[2001:db8::1]:6001,c/d').hosts).toEqual([
      { host: 'a', port: 6000 },
      { host: '2001:db8::1', port: 6001 },
      { host: 'c', port: 5432 },
    ]);
  });

  it('names the folder of a socket in both usual ways', () => {
    const expected = [{ host: '/var/run/postgresql', port: 5432 }];
    expect(addressOf('postgres://u@/d?host=/var/run/postgresql').hosts).toEqual(expected);
    expect(addressOf('postgres://u@%2Fvar%2Frun%2Fpostgresql/d').hosts).toEqual(expected);
    expect(addressOf('postgres://u@:6000/d?host=/tmp').hosts).toEqual([{ host: '/tmp', port: 6000 }]);
    expect(addressOf('postgres://u@h:6000/d?host=/tmp').hosts).toEqual([{ host: '/tmp', port: 6000 }]);
  });

  it('asks for TLS except within one machine, and checks a certificate where one is named', () => {
    expect(addressOf('postgres://u@localhost,127.0.0.1/d').tls).toBe('disable');
    expect(addressOf('postgres://u@localhost,b/d').tls).toBe('require');
    expect(addressOf('postgres://u@b/d?sslmode=disable').tls).toBe('disable');
    expect(addressOf('postgres://u@b/d?sslmode=require&sslrootcert=/ca.pem')).toMatchObject({
      ...{ tls: 'verify-ca', rootCertificate: '/ca.pem' },
    });
    expect(addressOf('postgres://u@b/d?sslmode=verify-full').tls).toBe('verify-full');
  });

  it('reads a password with characters of URLs, written with percent signs or not', () => {
    expect(addressOf('postgres://u:p%40%2F%3F@h/d').password).toBe('p@/?');
    expect(addressOf('postgres://u:p@ss:word@h/d')).toMatchObject({ user: 'u', password: 'p@ss:word' });
  });

  it.each([
    ['postgres://h/d', 'the user is missing'],
    ['postgres://u@h/', 'the name of the database is missing'],
    ['postgres://u@h', 'use postgres://user:password@host:port/database'],
    ['postgres://u:sec/ret@h/d', '%2F'],
    ['postgres://u:100%@h/d', 'with % written as %25'],
    ['postgres://u@/d', 'the host is missing'],
    ['postgres://u@h:0/d', 'its port is not a number'],
    ['postgres://u@h:70000/d', 'its port is not a number'],
    ['postgres://u@h:x/d?host=/tmp', 'its port is not a number'],
    ['postgres://u@h/d?sslmode=maybe', 'sslmode can be disable, require'],
    ['postgres://u@h/d?sslmode=verify-ca', 'needs sslrootcert'],
    ['postgres://u@h/d?sslcert=/c', 'belong together'],
    ['postgres://u@h/d?password=s3cret', 'leave password out of the URL'],
    ['postgres://u@h/d?s3cret!=1', 'leave a parameter out'],
  ])('says of %s what to write instead', (url, fix) => {
    expect(fixOf(url)).toContain(fix);
    expect(fixOf(url)).not.toMatch(/s3cret|sec\/ret|ret@/);
  });

  it('is shown without its password', () => {
    expect(shownPostgresUrl('postgres://u:p@ss@h/d?sslmode=disable')).toBe(
      'postgres://u:(secret)@h/d?sslmode=disable',
    );
    expect(shownPostgresUrl('postgres://u@h/d')).toBe('postgres://u@h/d');
    expect(shownPostgresUrl('postgres://u:sec/ret@h/d')).toBe('postgres://(hidden)');
    expect(shownPostgresUrl('postgres://u@h/d?password=s3cret')).toBe('postgres://(hidden)');
  });

  it('gets a password from elsewhere where it has none', () => {
    expect(withPassword('postgres://u@h/d', 'p@ss$&')).toBe('postgres://u:p%40ss%24%26@h/d');
    expect(withPassword('postgres://u:@h/d', 'x')).toBe('postgres://u:x@h/d');
    expect(withPassword('postgres://u:own@h/d', 'x')).toBe('postgres://u:own@h/d');
  });
});
