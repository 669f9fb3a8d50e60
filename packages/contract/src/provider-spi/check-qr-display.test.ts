import assert from 'node:assert/strict';
import { test } from 'node:test';
import { displayFault } from './check-qr-display.ts';
import { ProviderEvent } from './events-from-provider.ts';
import { providerCallText, providerPaths } from './signed-calls.ts';
import { isProviderId } from './value-schemas.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const svg = (inner: string, head = '<svg xmlns="http://www.w3.org/2000/svg">') =>
  displayFault({ type: 'image/svg+xml', data: base64(`${head}${inner}</svg>`) });

/** The published EMVCo sample: the length counts characters, the check sum covers bytes. */
const sample =
  '00020101021229300012D156000000000510A93FO3230Q31280012D15600000001030812345678520441115802CN5914BEST TRANSPORT6007BEIJING64200002ZH0104最佳运输0202北京540523.7253031565502016233030412340603***0708A60086670902ME91320016A0112233449988770708123456786304A13A';

test('the sample of EMVCo may be shown, and not with another check sum', () => {
  const faultOf = (data: string) => displayFault({ type: 'text/emvqr', data });
  assert.equal(faultOf(sample), undefined);
  assert.equal(faultOf(sample.toLowerCase().replace('a13a', 'A13A')), 'has a wrong check sum');
  assert.equal(faultOf(sample.replace('A13A', 'A13B')), 'has a wrong check sum');
  assert.equal(faultOf('weixin://wxpay/x'), 'is no EMV merchant-presented code');
  assert.equal(faultOf(`${sample}\u0007`), 'holds control characters');
  assert.equal(faultOf(sample.padEnd(513, '0')), 'is longer than 512 characters');
});

function png(width: number, height: number, length = 40): string {
  const bytes = Buffer.alloc(length);
  Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1').copy(bytes);
  bytes.writeUInt32BE(13, 8);
  bytes.write('IHDR', 12, 'latin1');
  if (length >= 24) {
    bytes.writeUInt32BE(width, 16);
    bytes.writeUInt32BE(height, 20);
  }
  return bytes.toString('base64');
}

test('a PNG is one by its head, and no larger than any terminal', () => {
  const faultOf = (data: string) => displayFault({ type: 'image/png', data });
  assert.equal(faultOf(png(290, 290)), undefined);
  assert.match(String(faultOf(png(290, 100_000))), /more than 4096 pixels/);
  assert.match(String(faultOf(png(0, 290))), /side of 0/);
  assert.equal(faultOf(png(1, 1, 20)), 'is no PNG');
  assert.equal(faultOf(base64('GIF89a, and more of it than a head')), 'is no PNG');
  assert.equal(faultOf('no base64!'), 'is no base64');
  assert.equal(faultOf('aGVsbG8'), 'is no base64');
});

// Spec: QRPROV-6
test('an SVG is a drawing and nothing else', () => {
  assert.equal(svg('<path d="M0 0h1v1z" fill="#000"/>'), undefined);
  assert.equal(svg('', '<?xml version="1.0" encoding="utf-8"?><svg>'), undefined);
  for (const inner of [
    '<script>alert(1)</script>',
    '<SCRIPT >alert(1)</SCRIPT>',
    '<svg:script>1</svg:script>',
    '<g onload="alert(1)"/>',
    '<g\nonclick =1/>',
    '<image href="https://evil.example/x.png"/>',
    '<a xlink:href="javascript:alert(1)"/>',
    '<foreignObject><p/></foreignObject>',
    '<style>@import url(https://evil.example)</style>',
    '<rect fill="url(https://evil.example/x)"/>',
    '<use href="#a"/>',
    '<set attributeName="x"/>',
    '<animate attributeName="x"/>',
    '&#60;script&#62;',
    '<!-- x -->',
  ]) {
    assert.match(String(svg(inner)), /more than a drawing/, inner);
  }
  const entity = '<!DOCTYPE svg [<!ENTITY x "y">]><svg>';
  assert.equal(svg('', entity), 'is no SVG');
  assert.equal(svg('', '<html>'), 'is no SVG');
  const half = { type: 'image/svg+xml', data: base64('<svg><path/>') } as const;
  assert.equal(displayFault(half), 'is no whole SVG');
});

test('an address is opened by a consumer: it leads somewhere, and runs nothing', () => {
  const faultOf = (data: string) => displayFault({ type: 'url', data });
  for (const fine of ['https://pay.example/p/1?x=1', 'weixin://wxpay/bizpayurl?pr=x']) {
    assert.equal(faultOf(fine), undefined, fine);
  }
  for (const bad of [
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:text/html,x',
    'http://x',
  ]) {
    assert.match(String(faultOf(bad)), /may not begin with/, bad);
  }
  for (const bad of ['pay.example', '//pay.example', 'https://a b', 'https://a\u0000b', '']) {
    assert.equal(faultOf(bad), 'is no address', JSON.stringify(bad));
  }
  assert.match(String(faultOf(`https://x/${'a'.repeat(2000)}`)), /longer than 2000/);
});

test('the signed text of a call without a body contains its method and path', () => {
  const path = providerPaths.refund('p1', 'r1');
  assert.equal(path, '/qr-payments/p1/refunds/r1');
  assert.equal(
    providerCallText('GET', path),
    '{"method":"GET","path":"/qr-payments/p1/refunds/r1"}',
  );
});

test('a provider names things as it likes, but not so that it could be a card', () => {
  for (const fine of ['P-1', '2013112011001004330000121536', '12345678901', 'a~b.c:d_e']) {
    assert.ok(isProviderId(fine), fine);
  }
  const bad = ['4111111111111111', '123456789012', '../x', 'a b', '', 'a'.repeat(129), 17, null];
  for (const each of bad) assert.ok(!isProviderId(each), String(each));
});

test('the documented event types are the processed event types', () => {
  assert.match(JSON.stringify(ProviderEvent), /payment\.completed.*refund\.declined/);
});
