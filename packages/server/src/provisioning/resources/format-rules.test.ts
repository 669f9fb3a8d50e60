import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCountry, isTerminalIdRange, isTimeZone } from './format-rules.ts';

test('a terminal range is a fixed head and a counted tail', () => {
  const good = [
    ['TERM0001', 'TERM9999'],
    ['00000001', '99999999'],
    ['ABCDEFG1', 'ABCDEFG1'],
    ['T1AB0009', 'T1AB0010'],
  ];
  const bad = [
    ['TERM0002', 'TERM0001'],
    ['TERM0001', 'TERN9999'],
    ['TERMINAL', 'TERMINAM'],
    ['TERM0001', 'TERM00A1'],
  ];
  for (const [from = '', to = ''] of good) assert.ok(isTerminalIdRange({ from, to }), from + to);
  for (const [from = '', to = ''] of bad) assert.ok(!isTerminalIdRange({ from, to }), from + to);
});

test('time zones are names of the IANA database, not offsets', () => {
  for (const zone of ['Europe/Paris', 'UTC', 'Asia/Kolkata']) assert.ok(isTimeZone(zone), zone);
  for (const zone of ['+02:00', 'Europe/Paris2', '', 'Mars/Phobos']) {
    assert.ok(!isTimeZone(zone), zone);
  }
});

test('countries are alpha-2 codes of ISO 3166-1', () => {
  for (const code of ['FR', 'JP', 'IN']) assert.ok(isCountry(code), code);
  for (const code of ['XX', 'EU', 'FRA', '']) assert.ok(!isCountry(code), code);
});
