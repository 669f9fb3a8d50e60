import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopbackHost } from './loopback.ts';

test('only loopback hosts may do without TLS', () => {
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
