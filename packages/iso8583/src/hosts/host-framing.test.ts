// Headers in front of messages: TPDU, routing addresses and lengths, and the tables that are refused.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileHost, HostTableError, readHostTable } from '../index.ts';

const base = { name: 'toy', base: 'iso1987-ascii' };

function headersOf(framing: object) {
  const host = compileHost(readHostTable({ ...base, framing }), { now: Date.now });
  return { ...host.headers, headerBytes: host.framing.headerBytes };
}

describe('headers of messages', () => {
  it('an answer has the TPDU of its request with swapped addresses, of any length', () => {
    const tpdu = { length: 'binary2', tpduBytes: 5, tpdu: '6000010002' };
    const { request, answer } = headersOf(tpdu);
    assert.equal(request(100).toString('hex'), '6000010002');
    assert.equal(answer(100, Buffer.from('6000030004', 'hex')).toString('hex'), '6000040003');
    assert.equal(request(100, Buffer.from('6000050006', 'hex')).toString('hex'), '6000050006');
    const long = headersOf({ length: 'binary2', tpduBytes: 9, tpdu: '600000000100000002' });
    assert.equal(
      long.answer(1, Buffer.from('60AAAAAAAABBBBBBBB', 'hex')).toString('hex'),
      '60bbbbbbbbaaaaaaaa',
    );
  });

  it('a literal header is in front of requests and of answers', () => {
    const { request, answer, headerBytes } = headersOf({
      header: 'ISO026000050',
      answerHeader: 'ISO026000055',
    });
    assert.equal(headerBytes, 12);
    assert.equal(request(100).toString('latin1'), 'ISO026000050');
    assert.equal(answer(100, request(100)).toString('latin1'), 'ISO026000055');
  });

  it('a routing header has its length, and swaps its addresses in answers', () => {
    const { request, answer, headerBytes } = headersOf({
      header: 'R{length:4}{destination:BANK}{source:0017}',
    });
    assert.equal(headerBytes, 13);
    assert.equal(request(100).toString('latin1'), 'R0113BANK0017');
    assert.equal(answer(87, Buffer.from('R01130017BANK')).toString('latin1'), 'R0100BANK0017');
    const ebcdic = headersOf({ header: 'R{source:1}', headerCharacters: 'ebcdic' });
    assert.equal(ebcdic.request(1).toString('hex'), 'd9f1');
    const visa = headersOf({
      header: '1601{length:2}{destination:000123}{source:456789}',
      headerCharacters: 'hex',
    });
    assert.equal(visa.request(256).toString('hex'), '1601010a000123456789');
    assert.equal(
      visa.answer(0, Buffer.from('1601010a000123456789', 'hex')).toString('hex'),
      '1601000a456789000123',
    );
  });

  it('refuses a framing that contradicts itself, with its JSON pointer', () => {
    const cases: [framing: object, pointer: string, members?: object][] = [
      [{ tpduBytes: 5 }, '/framing/tpdu'],
      [{ tpduBytes: 4, tpdu: '60000100' }, '/framing/tpduBytes'],
      [{ header: '{source:' }, '/framing/header'],
      [{ header: '{day:2}' }, '/framing/header'],
      [{ header: 'ISO', headerCharacters: 'hex' }, '/framing/header'],
      [{ header: 'ISO1', answerHeader: 'ISO' }, '/framing/answerHeader'],
      [{ lrc: true }, '/framing/lrc'],
      [{ length: 'none' }, '/framing/end'],
      [{ length: 'none', end: 'ETX' }, '/messages/bitmap', { messages: { bitmap: 'binary' } }],
      [{ length: 'none', end: 'ETX' }, '/messages/fields/55/encoding'],
      [{ beforeLength: '0' }, '/framing/beforeLength'],
    ];
    for (const [framing, pointer, members] of cases)
      assert.throws(
        () => readHostTable({ ...base, ...members, framing }),
        (error) => error instanceof HostTableError && error.pointer === pointer,
        JSON.stringify(framing),
      );
  });
});
