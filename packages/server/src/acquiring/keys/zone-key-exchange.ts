// Imports zone keys that hosts send into the HSM, and stores the key references before use.
import { defined } from '@switchyard/contract';
import { type Clock, type Database, isoTime, type Log } from '../../platform/index.ts';
import type { Hsm } from '../../vault/index.ts';
import type { Iso8583HostLink, ZonePinKey } from '../spi/acquirer-spi.ts';

export type KeyUse = 'ZonePin' | 'Mac';

/** A new key from the host, encrypted under the zone master key of the link. */
export type KeyChange = {
  use: KeyUse;
  algorithm: 'Tdes' | 'Aes';
  keyIndex: string;
  checkValue: string;
  wrapped: string;
};

/** The current zone keys of one link. */
export type KeyRing = {
  pinKey(): ZonePinKey | undefined;
  /** The current key first, then the previous key, which is still accepted. */
  macKeys(): readonly string[];
  /** True if the link has a zone master key and the host has sent no key yet. */
  wantsKeys(): boolean;
  /** Imports and stores a new key; returns false if the import fails. */
  take(change: KeyChange): Promise<boolean>;
};

export type LinkKeys = {
  /** Reads the stored keys again, including those of other processes. */
  look(): Promise<void>;
  ring(link: Iso8583HostLink): KeyRing;
};

type Stored = {
  use: KeyUse;
  keyRef: string;
  checkValue: string;
  keyIndex: string | undefined;
  configured: string | undefined;
};

/** Maximum queued key updates of one link; further updates are rejected. */
const waitingMax = 4;

/** Two keys are active. Older keys are remembered, so that a replayed key is rejected. */
const usedPerUse = 2;
const knownPerUse = 64;

const insertKey = `INSERT INTO acquirer_link_keys (organization_id, acquirer_link_id, usage, number,
    key_ref, check_value, key_index, configured_key_ref, created_at)
  SELECT $1, $2, $3, coalesce(max(number), 0) + 1, $4, $5, $6, $7, $8 FROM acquirer_link_keys
  WHERE organization_id = $1 AND acquirer_link_id = $2 AND usage = $3
  ON CONFLICT DO NOTHING RETURNING number`;

const deleteOld = `DELETE FROM acquirer_link_keys
  WHERE organization_id = $1 AND acquirer_link_id = $2 AND usage = $3 AND number <= $4`;

const selectKeys = `SELECT acquirer_link_id, usage, key_ref, check_value, key_index,
    configured_key_ref
  FROM acquirer_link_keys ORDER BY organization_id, acquirer_link_id, usage, number DESC`;

type Row = {
  acquirer_link_id: string;
  usage: string;
  key_ref: string;
  check_value: string;
  key_index: string | null;
  configured_key_ref: string | null;
};

const storedOf = (row: Row): Stored => ({
  use: row.usage as KeyUse,
  keyRef: row.key_ref,
  checkValue: row.check_value,
  keyIndex: row.key_index ?? undefined,
  configured: row.configured_key_ref ?? undefined,
});

const configuredFor = ({ settings }: Iso8583HostLink, use: KeyUse): string | undefined =>
  use === 'Mac' ? settings.macKey?.keyRef : settings.zonePinKey?.keyRef;

type Deps = { database: Database; clock: Clock; log: Log; hsm?: Hsm | undefined };

/** @example const keys = createLinkKeys({ database, clock, log, hsm }); await keys.look(); */
export function createLinkKeys(deps: Deps): LinkKeys {
  const { database, clock, log, hsm } = deps;
  let byLink = new Map<string, Stored[]>();
  let looked: Promise<unknown> = Promise.resolve();
  const turns = new Map<string, { waiting: number; last: Promise<unknown> }>();

  /** Keys of one usage, newest first. The list is empty after an operator configures another key. */
  function received(link: Iso8583HostLink, use: KeyUse): Stored[] {
    if (link.settings.zoneMasterKey === undefined) return [];
    const configured = configuredFor(link, use);
    const all = byLink.get(link.linkId) ?? [];
    return all.filter((each) => each.use === use && each.configured === configured);
  }

  async function lookOnce(): Promise<void> {
    const found = new Map<string, Stored[]>();
    for (const row of await database.query<Row>(selectKeys)) {
      const keys = found.get(row.acquirer_link_id) ?? [];
      keys.push(storedOf(row));
      found.set(row.acquirer_link_id, keys);
    }
    byLink = found;
  }

  /** Reloads run one at a time: an older read must not overwrite a newer one. */
  function look(): Promise<void> {
    const mine = looked.then(lookOnce);
    looked = mine.catch(() => {});
    return mine;
  }

  async function store(link: Iso8583HostLink, change: KeyChange, keyRef: string): Promise<void> {
    const of = [link.organizationId, link.linkId, change.use];
    const configured = configuredFor(link, change.use) ?? null;
    const [row] = await database.query<{ number: number }>(insertKey, [
      ...of,
      keyRef,
      change.checkValue,
      change.keyIndex,
      configured,
      isoTime(clock.now()),
    ]);
    // On a conflict another process has stored the same key, and its row is valid.
    if (row !== undefined) await database.query(deleteOld, [...of, row.number - knownPerUse]);
    await look();
  }

  /** Imports of a link run one at a time, so that one host cannot occupy the HSM. */
  async function takeInTurn(link: Iso8583HostLink, change: KeyChange): Promise<boolean> {
    const turn = turns.get(link.linkId) ?? { waiting: 0, last: Promise.resolve() };
    if (turn.waiting >= waitingMax) return false;
    turns.set(link.linkId, turn);
    turn.waiting += 1;
    const mine = turn.last.then(() => take(link, change));
    turn.last = mine;
    try {
      return await mine;
    } finally {
      turn.waiting -= 1;
      if (turn.waiting === 0) turns.delete(link.linkId);
    }
  }

  async function take(link: Iso8583HostLink, change: KeyChange): Promise<boolean> {
    const master = link.settings.zoneMasterKey;
    if (master === undefined || hsm === undefined) return false;
    const { use: usage, algorithm, wrapped, checkValue } = change;
    const [present, ...older] = received(link, usage);
    // A host repeats the current key if it lost the response. An older key is a replay.
    if (present?.checkValue === checkValue) return true;
    if (older.some((each) => each.checkValue === checkValue)) {
      log.error(
        { link: link.name, usage, checkValue },
        'host sent a replaced key again; the key is rejected',
      );
      return false;
    }
    try {
      const wrappingKeyRef = master.keyRef;
      const key = { wrappingKeyRef, wrapped, checkValue, usage, algorithm };
      const { keyRef } = await hsm.importKey(key);
      await store(link, change, keyRef);
      log.info({ link: link.name, usage, checkValue }, 'new zone key of a host is active');
      return true;
    } catch (error) {
      log.error(
        { err: error, link: link.name, usage, checkValue },
        'zone key could not be imported',
      );
      return false;
    }
  }

  return {
    look,
    ring: (link) => ({
      pinKey() {
        const { zonePinKey } = link.settings;
        const [newest] = received(link, 'ZonePin');
        if (newest === undefined || zonePinKey === undefined) return zonePinKey;
        const { keyRef, keyIndex } = newest;
        return { ...zonePinKey, keyRef, ...defined({ keyIndex }) };
      },
      macKeys() {
        const { macKey } = link.settings;
        const fixed = macKey === undefined ? [] : [macKey.keyRef];
        const names = [...received(link, 'Mac').map(({ keyRef }) => keyRef), ...fixed];
        return names.slice(0, usedPerUse);
      },
      wantsKeys: () =>
        link.settings.zoneMasterKey !== undefined &&
        hsm !== undefined &&
        received(link, 'ZonePin').length + received(link, 'Mac').length === 0,
      take: (change) => takeInTurn(link, change),
    }),
  };
}
