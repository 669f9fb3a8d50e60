// The framing of each channel of jPOS: the bytes of a short message, written by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileHost, encodeFrame, readHostTable } from '@switchyard/iso8583';
import { channelNames, convertChannel, findChannelName } from './channels.ts';

/** The frame around the message 30 31 32. */
const frames: Readonly<Record<string, string>> = {
  ASCII: '30303033303132',
  Amex: '0005303132',
  BASE24: '30313203',
  BASE24TCP: '000430313203',
  BCD: '0003303132',
  CMF: '000003303132',
  CS: '00030000303132',
  GICC: '00000003303132',
  HEX: '30303033303132',
  NAC: '00086000000000303132',
  NCC: '00086000000000303132',
  Post: '0003303132',
  Raw: '00000003303132',
  VAP: '00030000303132',
};
const withoutFraming = ['PAD', 'RBP', 'X25', 'XML'];
const withNote = ['NAC', 'NCC', 'VAP', ...withoutFraming];

/** A table whose messages are characters, so that a frame can end with ETX. */
const characters = {
  name: 'x',
  base: 'iso1987-ascii',
  messages: { fields: { '55': { encoding: 'hex' } } },
};

test('each channel has the framing of jPOS, or is listed', () => {
  assert.deepEqual(channelNames.toSorted(), [...Object.keys(frames), ...withoutFraming].toSorted());
  for (const name of channelNames) {
    const { framing, openItems } = convertChannel(name);
    assert.equal(openItems.length, withNote.includes(name) ? 1 : 0, name);
    assert.equal(framing === undefined, withoutFraming.includes(name), name);
    if (framing === undefined) continue;
    const host = compileHost(readHostTable({ ...characters, framing }), { now: Date.now });
    const message = Buffer.from('012');
    const header = host.headers.request(message.length);
    assert.equal(
      encodeFrame(host.framing, message, { header }).toString('hex'),
      frames[name],
      name,
    );
  }
});

test('a channel has its name with or without the package and the word Channel', () => {
  for (const text of ['NAC', 'nacchannel', 'NACChannel', 'org.jpos.iso.channel.NACChannel'])
    assert.equal(findChannelName(text), 'NAC');
  assert.equal(findChannelName('Own'), undefined);
});
