import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { trustedProxies } from './trusted-proxies.ts';

describe('trusted proxy ranges', () => {
  test('private ranges and single addresses are accepted', () => {
    for (const range of [
      '10.0.0.0/8',
      '10.1.2.3/8',
      '172.16.0.0/12',
      '192.168.7.0/24',
      '100.64.0.0/10',
      '169.254.0.0/16',
      '127.0.0.0/8',
      '127.0.0.1',
      '::1',
      '::1/128',
      'fc00::/7',
      'fd12:3456::/48',
      'fe80::/10',
      '203.0.113.7',
      '203.0.113.7/32',
      '2001:db8::7',
      '2001:db8::7/128',
    ]) {
      assert.deepEqual(trustedProxies.read(range), [range]);
    }
    assert.deepEqual(trustedProxies.read('10.0.0.0/8, ::1  203.0.113.7'), [
      '10.0.0.0/8',
      '::1',
      '203.0.113.7',
    ]);
  });

  // Spec: SET-14
  test('a range with public addresses is refused in every notation', () => {
    for (const range of [
      '0.0.0.0/0',
      '0.0.0.0/1',
      '128.0.0.0/1',
      '203.0.113.0/24',
      '203.0.113.6/31',
      '10.0.0.0/7',
      '172.16.0.0/11',
      '192.168.0.0/15',
      '127.0.0.0/7',
      '100.64.0.0/9',
      '224.0.0.0/4',
      '::/0',
      '::/1',
      '8000::/1',
      '2000::/3',
      '2001:db8::/32',
      '2001:db8::6/127',
      '64:ff9b::/96',
      '2002::/16',
      'fc00::/6',
      'fe80::/9',
      '::/96',
    ]) {
      assert.throws(() => trustedProxies.read(range), /is not private/, range);
      assert.throws(() => trustedProxies.read(`10.0.0.0/8 ${range}`), /is not private/, range);
    }
  });

  test('text that is not a usual range is refused', () => {
    for (const range of [
      '10.0.0.0/33',
      '::1/129',
      '10.0.0.0/08',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '10.0.0.0/-1',
      '10.0.0.0/255.0.0.0',
      '10.0.0',
      '010.0.0.1',
      '10.0.0.0-10.0.0.9',
      'loopback',
      'uniquelocal',
      'true',
      '1',
      'proxy.example',
      'fe80::1%eth0',
      'fe80::%1/64',
      '*',
      '[::1]',
    ]) {
      assert.throws(() => trustedProxies.read(range), /not an address or a range/, range);
    }
    for (const range of [
      '::ffff:10.0.0.1',
      '::ffff:a00:1',
      '::ffff:0:0/96',
      '0:0:0:0:0:ffff:0a00:0/104',
      '::ffff:0.0.0.0/97',
      '::10.0.0.1',
    ]) {
      assert.throws(() => trustedProxies.read(range), /write it as IPv4/, range);
    }
    assert.throws(() => trustedProxies.read(' , '), /is empty/);
  });
});
