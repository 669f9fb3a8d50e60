import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mailNameLengthMax, mailNamePattern } from '@switchyard/contract';
import { sanitizeMailName } from './mail-message.ts';

const form = new RegExp(mailNamePattern, 'u');

test('a name without a link stays unchanged', () => {
  for (const name of [
    'Ann',
    'Anne-Marie',
    'O’Neil',
    "d'Été",
    'José 3',
    'Jr. Smith Sr.',
    '’t Hooft',
    '李',
    'नमिता',
  ]) {
    assert.match(name, form);
    assert.equal(sanitizeMailName(name), name);
  }
});

// Spec: ONB-13
test('a name with a link is refused, and is no link in a mail', () => {
  for (const [name, inMail] of [
    ['Click http://evil.example/a?b=1', 'Click http evil example a b 1'],
    ['evil.example', 'evil example'],
    ['evil.ÉXAMPLE', 'evil ÉXAMPLE'],
    ['a@evil.example', 'a evil example'],
    ['https:evil', 'https evil'],
    ['<a href="x">Ann</a>', 'a href x Ann a'],
    ['Ann\r\nBcc: b@evil.example', 'Ann Bcc b evil example'],
    ['evil。example', 'evil example'],
    ['evil\u2024example', 'evil example'],
    ['\u202eAnn', 'Ann'],
    ['evil..example', 'evil. example'],
  ] as const) {
    assert.doesNotMatch(name, form, name);
    assert.equal(sanitizeMailName(name), inMail);
  }
});

test('an IPv4 address in a name is no link in a mail', () => {
  assert.equal(sanitizeMailName('192.0.2.1'), '192 0 2 1');
  assert.equal(sanitizeMailName('Ann 192.0.2.1.'), 'Ann 192 0 2 1.');
  assert.equal(sanitizeMailName('Web 2.0.'), 'Web 2.0.');
});

test('a long name is truncated in a mail', () => {
  assert.equal(sanitizeMailName('x'.repeat(100)).length, mailNameLengthMax);
});
