import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopbackHost, isPublicAddress, subscriberNetwork } from './address-classes.ts';

test('addresses of the public internet are public', () => {
  for (const address of ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00::1']) {
    assert.equal(isPublicAddress(address), true, address);
  }
});

test('private, local, shared, mapped and tunnelled addresses are not public', () => {
  const inside = [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.31.255.255',
    '192.168.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'fe80::1%lo',
    'fc00::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::a00:1',
    '2002:a00:1::',
    '2001::1',
    '2001:db8::1',
    '',
    'localhost',
    '127.1',
    '0x7f000001',
    '2130706433',
  ];
  for (const address of inside) assert.equal(isPublicAddress(address), false, address);
});

test('only loopback hosts may be used without TLS', () => {
  for (const host of ['localhost', '127.0.0.1', '127.8.9.10', '::1']) {
    assert.ok(isLoopbackHost(host), host);
  }
  for (const host of [
    '127.0.0.1.example.com',
    'acquirer.example',
    '10.0.0.1',
    '1127.0.0.1',
    '127.0.0.999',
  ]) {
    assert.ok(!isLoopbackHost(host), host);
  }
});

test('an IPv6 network counts as one subscriber', () => {
  assert.equal(subscriberNetwork('2001:db8:1:2:3:4:5:6'), subscriberNetwork('2001:db8:1:2::9'));
  assert.notEqual(subscriberNetwork('2001:db8:1:2::1'), subscriberNetwork('2001:db8:1:3::1'));
  assert.equal(subscriberNetwork('::1'), '0:0:0:0');
  assert.equal(subscriberNetwork('2001:db8::'), '2001:db8:0:0');
  assert.equal(subscriberNetwork('::ffff:192.0.2.1'), '::ffff:192.0.2.1');
  assert.equal(subscriberNetwork('192.0.2.1'), '192.0.2.1');
});
