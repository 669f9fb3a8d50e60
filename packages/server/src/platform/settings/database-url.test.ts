import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isPlainDatabase, parseDatabaseUrl } from './database-url.ts';
import { ValueError } from './value-readers.ts';

const hostsOf = (text: string) =>
  parseDatabaseUrl(text).hosts.map(({ host, port }) => `${host} ${port}`);

describe('database URL', () => {
  test('names one host or several, in every form of libpq', () => {
    assert.deepEqual(hostsOf('postgresql://u:p@db/pay'), ['db 5432']);
    assert.deepEqual(hostsOf('postgres://db-1:5433/pay'), ['db-1 5433']);
    assert.deepEqual(hostsOf('postgresql://u:p@db-1:5433,db-2:5434/pay'), [
      'db-1 5433',
      'db-2 5434',
    ]);
    assert.deepEqual(hostsOf('postgresql://u@db-1,db-2,[fd00::3]:6432/pay'), [
      'db-1 5432',
      'db-2 5432',
      'fd00::3 6432',
    ]);
    assert.deepEqual(hostsOf('postgresql://u@db-1,db-2/pay?port=6432'), ['db-1 6432', 'db-2 6432']);
    assert.deepEqual(hostsOf('postgresql:///pay?host=/run/a,/run/b&port=5433,5434'), [
      '/run/a 5433',
      '/run/b 5434',
    ]);
    assert.deepEqual(hostsOf('postgresql://%2Frun%2Fa,db/pay'), ['/run/a 5432', 'db 5432']);
  });

  test('one host is passed to the driver unchanged, several as the first one', () => {
    const singleHostUrl = 'postgresql://u:p%2C@db:5432/pay?sslmode=verify-full&options=-c%20a%3Db';
    assert.deepEqual(parseDatabaseUrl(singleHostUrl), {
      url: singleHostUrl,
      hosts: [{ host: 'db', port: 5432 }],
      needsWritableHost: false,
    });
    const { url, needsWritableHost } = parseDatabaseUrl(
      'postgresql://u:p%2C@db-1,db-2:5434/pay?target_session_attrs=read-write&sslmode=verify-full',
    );
    assert.equal(url, 'postgresql://u:p%2C@db-1:5432/pay?sslmode=verify-full');
    assert.ok(needsWritableHost);
    assert.ok(parseDatabaseUrl('postgresql://db/x?target_session_attrs=any').needsWritableHost);
    const socket = parseDatabaseUrl('postgresql://u@/pay?host=/run/a,db&application_name=x');
    assert.equal(socket.url, 'postgresql://u@%2Frun%2Fa:5432/pay?application_name=x');
    const numbered = parseDatabaseUrl('postgresql://u@[fd00::1]:1,[fd00::2]:2/pay');
    assert.equal(numbered.url, 'postgresql://u@[fd00::1]:1/pay?');
  });

  test('an unusable URL is refused with its reason, and is never repeated', () => {
    const cases: [string, RegExp][] = [
      ['mysql://u:hunter2@db/pay', /starts with postgresql:/],
      ['db:5432', /starts with postgresql:/],
      ['postgresql://u:hunter2@db-1:99999,db-2/pay', /invalid host or port/],
      ['postgresql://u:hunter2@db-1:0,db-2/pay', /invalid host or port/],
      ['postgresql://u:hunter2@db-1:5x,db-2/pay', /invalid host or port/],
      ['postgresql://u:hunter2@a:1:2,db-2/pay', /invalid host or port/],
      ['postgresql://u:hunter2@db-1,,db-2/pay', /empty host/],
      ['postgresql://u:hunter2@db-1,/pay', /empty host/],
      ['postgresql://u:hunter2@a,b/pay?port=1,2,3', /2 hosts and 3 ports/],
      [`postgresql://u:hunter2@${'a,'.repeat(16)}a/pay`, /more than 16 hosts/],
      ['postgresql://u:hunter2@db/pay?target_session_attrs=standby', /does not support/],
      ['postgresql://u:hunter2@a,b/pay?target_session_attrs=prefer-standby', /does not support/],
      ['postgresql://u:hunter2@a b/pay', /is not a URL/],
      ['postgresql://u:hunter2@%zz,b/pay', /not percent-encoded/],
    ];
    for (const [text, reason] of cases) {
      assert.throws(
        () => parseDatabaseUrl(text),
        (error) =>
          error instanceof ValueError &&
          reason.test(error.message) &&
          !error.message.includes('hunter2'),
        text,
      );
    }
  });

  // Spec: SET-30
  test('a connection to another machine without a certificate check is plain', () => {
    for (const text of [
      'postgresql://u@db/pay',
      'postgresql://u@10.0.0.5/pay',
      'postgresql://u@db/pay?sslmode=disable',
      'postgresql://u@db/pay?sslmode=no-verify',
      'postgresql://u@db/pay?sslmode=prefer',
      'postgresql://u@db/pay?sslmode=allow',
      'postgresql://u@db/pay?sslmode=require&uselibpqcompat=true',
      'postgresql://u@db/pay?sslmode=verify-full&sslmode=disable',
      'postgresql://u@localhost,db/pay',
      'postgresql://u@localhost/pay?host=db',
      'postgresql:///pay',
    ]) {
      assert.equal(isPlainDatabase(text), true, text);
    }
    for (const text of [
      'postgresql://u@db/pay?sslmode=verify-full',
      'postgresql://u@db/pay?sslmode=verify-ca&sslrootcert=/ca.pem',
      'postgresql://u@db/pay?sslmode=require',
      'postgresql://u@db-1,db-2/pay?sslmode=verify-full',
      'postgresql://u@localhost/pay',
      'postgresql://u@127.0.0.1:6432/pay',
      'postgresql://u@[::1]/pay',
      'postgresql:///pay?host=/var/run/postgresql',
    ]) {
      assert.equal(isPlainDatabase(text), false, text);
    }
  });
});
