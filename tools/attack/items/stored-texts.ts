// Item 8: no card number in names, labels and addresses, and no SVG under another type.
import { createPan } from '../../../packages/server/test/support/card-data/card-data-encodings.ts';
import type { Attack, Attempts } from '../attack.ts';
import { describeResponse } from '../describe-response.ts';
import type { Production } from '../platforms.ts';

const base = '/provisioning/v2';
const bins = [
  ['4', 16],
  ['51', 16],
  ['37', 15],
  ['4', 19],
  ['6011', 16],
  ['3528', 16],
] as const;

function formsOf(pan: string): string[] {
  const groups = pan.match(/.{1,4}/g) ?? [];
  return [
    pan,
    groups.join(' '),
    groups.join('-'),
    `Card ${pan} of Ann`,
    `x${pan}`,
    [...pan].join(' '),
  ];
}

/** A request that creates a resource with the text in one of its members. */
type TextMember = {
  readonly description: string;
  readonly kind: string;
  readonly bodyOf: (text: string) => object;
};

function textMembersOf(merchantId: string, storeId: string, count: number): TextMember[] {
  const merchant = { name: 'Shop', country: 'FR', mcc: '5411', timeZone: 'Europe/Paris' };
  const device = {
    serialNumber: `8${String(count).padStart(7, '0')}`,
    make: 'AXIUM',
    model: 'DX8000',
    family: 'axium',
  };
  const link = { name: `L${count}`, host: '8.8.8.8', port: 8583, institutionId: '100001' };
  const kinds: [string, object][] = [
    ['merchants', merchant],
    ['stores', { merchantId, name: 'Store' }],
    ['logical-devices', { storeId, name: 'Till' }],
    ['physical-devices', device],
    ['points-of-sale', { storeId, name: 'Till' }],
    ['acquirer-links', link],
  ];
  const nameFields = kinds.map(([kind, body]) => ({
    description: `${kind} name`,
    kind,
    bodyOf: (text: string) => ({ ...body, name: text }),
  }));
  const labelFields = kinds.map(([kind, body]) => ({
    description: `${kind} label`,
    kind,
    bodyOf: (text: string) => ({ ...body, labels: { note: text } }),
  }));
  return [
    ...nameFields,
    ...labelFields,
    {
      description: 'merchants contact',
      kind: 'merchants',
      bodyOf: (text) => ({ ...merchant, contact: { name: text } }),
    },
    {
      description: 'stores address',
      kind: 'stores',
      bodyOf: (text) => ({ merchantId, name: 'S', address: { line1: text, city: 'Paris' } }),
    },
  ];
}

/** Also with spaces or hyphens between the digits. */
const containsPan = (text: string, pan: string) => text.replace(/[ -]/g, '').includes(pan);

async function storeCardNumbers(attempts: Attempts, { attacker, call, create }: Production) {
  const { token } = attacker;
  const merchant = { name: 'Shop', country: 'FR', mcc: '5411', timeZone: 'Europe/Paris' };
  const { merchantId } = await create(token, `${base}/merchants`, merchant);
  const { storeId } = await create(token, `${base}/stores`, { merchantId, name: 'Store' });
  let count = 0;
  for (const [prefix, length] of bins) {
    const pan = createPan(prefix, length);
    for (const text of formsOf(pan)) {
      count += 1;
      for (const { description, kind, bodyOf } of textMembersOf(merchantId, storeId, count)) {
        const answer = await call(token, 'POST', `${base}/${kind}`, { body: bodyOf(text) });
        // Another code would mean that another member was refused before the text was checked.
        const isRefused = answer.status === 422 && answer.body?.code === 'field_invalid';
        attempts.record({
          description: `${description} ${text.replace(/\d(?=\d{4})/g, '*')}`,
          response: `card number: ${describeResponse(answer)}`,
          isDefended: isRefused && !containsPan(answer.text, pan),
        });
      }
    }
    const line = {
      type: 'merchant',
      operation: 'create',
      data: { ...merchant, externalId: `m${count}`, name: pan },
    };
    const bulk = await call(token, 'POST', `${base}/bulk?bulkId=cards-${count}`, {
      raw: JSON.stringify(line),
      headers: { 'content-type': 'application/jsonl' },
    });
    const { items } = await create(token, `${base}/merchants?limit=200`, undefined, 'GET');
    const isStored = items.some(({ name }: { name: string }) => name.includes(pan));
    const response = `card number in an import: ${bulk.status}, ${isStored ? 'stored' : 'not stored'}`;
    attempts.record({
      description: `bulk with ${prefix}…`,
      response,
      isDefended: !isStored && !containsPan(bulk.text, pan),
    });
  }
}

const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const png = Buffer.from('89504e470d0a1a0a', 'hex');

async function declareLogos(attempts: Attempts, { attacker, call }: Production): Promise<void> {
  const images: [string, Buffer][] = [
    ['SVG', Buffer.from(svg)],
    ['SVG after a byte order mark', Buffer.from(`\ufeff${svg}`)],
    ['SVG after white space', Buffer.from(`\n  ${svg}`)],
    ['XML declaration and SVG', Buffer.from(`<?xml version="1.0"?>${svg}`)],
    ['HTML', Buffer.from('<!doctype html><script>alert(1)</script>')],
    ['GIF', Buffer.from('GIF89a')],
    ['SVG before the bytes of PNG', Buffer.concat([Buffer.from(svg), png])],
    ['nothing', Buffer.alloc(0)],
  ];
  for (const [name, bytes] of images) {
    for (const mediaType of ['image/png', 'image/jpeg', 'image/webp', 'image/svg+xml']) {
      const logo = { mediaType, data: bytes.toString('base64') };
      const body = { name: 'Logo', domain: 'Printing', logo };
      const answer = await call(attacker.token, 'POST', '/service-catalog/v1/services', { body });
      const response = `logo: ${describeResponse(answer)}`;
      attempts.record({
        description: `${name} as ${mediaType}`,
        response,
        isDefended: answer.status === 422,
      });
    }
  }
  const logo = { mediaType: 'image/png', data: png.toString('base64') };
  const body = { name: 'Logo', domain: 'Printing', logo };
  const { status } = await call(attacker.token, 'POST', '/service-catalog/v1/services', { body });
  attempts.requireControl('a PNG is accepted as image/png', status === 201);
}

export const storedTextsAttack: Attack = {
  item: 8,
  name: 'card numbers in names and labels, SVG declared as PNG',
  async run(attempts, platforms) {
    const production = await platforms.production();
    await storeCardNumbers(attempts, production);
    await declareLogos(attempts, production);
  },
};
