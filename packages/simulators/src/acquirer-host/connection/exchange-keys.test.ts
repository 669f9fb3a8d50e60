// The keys of the host: offered, taken, and kept beside the ledger.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { unwrapKey } from '@switchyard/pin';
import { type HostKeys, openKeyRing } from './exchange-keys.ts';

const zoneMaster = { algorithm: 'Aes', key: Buffer.alloc(16, 0x31) } as const;
const first = { algorithm: 'Tdes', key: Buffer.alloc(16, 0x52) } as const;
const headCharacters = 10;

describe('the keys of the host', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'host-keys-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const open = (keys: HostKeys = { zoneMaster, zonePin: first }) =>
    openKeyRing({ directory, keys, mac: undefined });

  function offerOf(ring: ReturnType<typeof open>) {
    const offer = ring.offer('P');
    assert.ok(offer !== undefined);
    const wrapped = Buffer.from(offer.text.slice(headCharacters), 'hex');
    return { ...offer, key: unwrapKey(zoneMaster.key, wrapped, zoneMaster.algorithm) };
  }

  test('an offered key comes after the current key, and before it once the offer is accepted', () => {
    const ring = open();
    const offer = offerOf(ring);
    assert.deepEqual(ring.keysFor('P'), [first.key, offer.key]);
    offer.accept();
    assert.deepEqual(ring.keysFor('P'), [offer.key, first.key]);
    offer.accept();
    assert.deepEqual(ring.keysFor('P'), [offer.key, first.key]);
    assert.deepEqual(ring.keysFor('M'), []);
  });

  test('accepted keys and unanswered offers are still available after a restart', () => {
    const before = open();
    const acceptedOffer = offerOf(before);
    acceptedOffer.accept();
    const unanswered = offerOf(before);
    const ring = open();
    assert.deepEqual(ring.keysFor('P'), [acceptedOffer.key, first.key, unanswered.key]);
    assert.equal(statSync(join(directory, 'keys.json')).mode & 0o777, 0o600);
  });

  test('an answer is for its own offer: the younger one waits, the older one is over', () => {
    const ring = open();
    const offers = [offerOf(ring), offerOf(ring), offerOf(ring)] as const;
    offers[1].accept();
    assert.deepEqual(ring.keysFor('P'), [offers[1].key, first.key, offers[2].key]);
    offers[0].accept();
    assert.deepEqual(ring.keysFor('P'), [offers[1].key, first.key, offers[2].key]);
    offers[2].accept();
    assert.deepEqual(ring.keysFor('P'), [offers[2].key, offers[1].key]);
  });

  test('the host stores at most four open key offers, and makes no offer without a zone master key', () => {
    const ring = open();
    const offers = Array.from({ length: 6 }, () => offerOf(ring).key);
    assert.deepEqual(ring.keysFor('P'), [first.key, ...offers.slice(2).reverse()]);
    assert.equal(open({ zonePin: first }).offer('P'), undefined);
  });
});
