// Imports zone keys that hosts send into the HSM, and stores the key references before use.
import { defined } from '@switchyard/contract';
import { type Clock, type Database, isoTime, type Log } from '../../platform/index.ts';
import type { Hsm } from '../../vault/index.ts';
import type { Iso8583HostLink, ZonePinKey } from '../spi/acquirer-spi.ts';

export type ZoneKeyUsage = 'ZonePin' | 'Mac';

/** A new key from the host, encrypted under the zone master key of the link. */
export type ZoneKeyUpdate = {
  usage: ZoneKeyUsage;
  algorithm: 'Tdes' | 'Aes';
  keyIndex: string;
  checkValue: string;
  wrappedKey: string;
};

/** The current zone keys of one link. */
export type ZoneKeyRing = {
  getPinKey(): ZonePinKey | undefined;
  /** The current key first, then the previous key, which is still accepted. */
  listMacKeyRefs(): readonly string[];
  /** True if the link has a zone master key and the host has sent no key yet. */
  shouldRequestKeys(): boolean;
  /** Imports and stores a new key; returns false if the import fails. */
  importKey(update: ZoneKeyUpdate): Promise<boolean>;
};

export type ZoneKeys = {
  /** Reads the stored keys again, including those of other processes. */
  reload(): Promise<void>;
  keyRingFor(link: Iso8583HostLink): ZoneKeyRing;
};

type StoredZoneKey = {
  usage: ZoneKeyUsage;
  keyRef: string;
  checkValue: string;
  keyIndex: string | undefined;
  configuredKeyRef: string | undefined;
};

/** Maximum queued key updates of one link; further updates are rejected. */
const maxWaitingImports = 4;

/** Two keys are active. Older keys are remembered, so that a replayed key is rejected. */
const activeKeysPerUsage = 2;
const rememberedKeysPerUsage = 64;

const insertKeySql = `INSERT INTO acquirer_link_keys (organization_id, acquirer_link_id, usage, number,
    key_ref, check_value, key_index, configured_key_ref, created_at)
  SELECT $1, $2, $3, coalesce(max(number), 0) + 1, $4, $5, $6, $7, $8 FROM acquirer_link_keys
  WHERE organization_id = $1 AND acquirer_link_id = $2 AND usage = $3
  ON CONFLICT DO NOTHING RETURNING number`;

const deleteOldKeysSql = `DELETE FROM acquirer_link_keys
  WHERE organization_id = $1 AND acquirer_link_id = $2 AND usage = $3 AND number <= $4`;

const selectKeysSql = `SELECT acquirer_link_id, usage, key_ref, check_value, key_index,
    configured_key_ref
  FROM acquirer_link_keys ORDER BY organization_id, acquirer_link_id, usage, number DESC`;

type ZoneKeyRow = {
  acquirer_link_id: string;
  usage: string;
  key_ref: string;
  check_value: string;
  key_index: string | null;
  configured_key_ref: string | null;
};

const toStoredKey = (row: ZoneKeyRow): StoredZoneKey => ({
  usage: row.usage as ZoneKeyUsage,
  keyRef: row.key_ref,
  checkValue: row.check_value,
  keyIndex: row.key_index ?? undefined,
  configuredKeyRef: row.configured_key_ref ?? undefined,
});

const configuredKeyRefFor = (
  { settings }: Iso8583HostLink,
  usage: ZoneKeyUsage,
): string | undefined => (usage === 'Mac' ? settings.macKey?.keyRef : settings.zonePinKey?.keyRef);

type Deps = { database: Database; clock: Clock; log: Log; hsm?: Hsm | undefined };

/** @example const keys = createLinkKeys({ database, clock, log, hsm }); await keys.look(); */
export function createZoneKeys(deps: Deps): ZoneKeys {
  const { database, clock, log, hsm } = deps;
  let keysByLink = new Map<string, StoredZoneKey[]>();
  let lastReload: Promise<unknown> = Promise.resolve();
  const importQueues = new Map<string, { waiting: number; last: Promise<unknown> }>();

  /** Keys of one usage, newest first. The list is empty after an operator configures another key. */
  function listReceivedKeys(link: Iso8583HostLink, usage: ZoneKeyUsage): StoredZoneKey[] {
    if (link.settings.zoneMasterKey === undefined) return [];
    const configuredKeyRef = configuredKeyRefFor(link, usage);
    const linkKeys = keysByLink.get(link.linkId) ?? [];
    return linkKeys.filter(
      (each) => each.usage === usage && each.configuredKeyRef === configuredKeyRef,
    );
  }

  async function reloadOnce(): Promise<void> {
    const loadedKeys = new Map<string, StoredZoneKey[]>();
    for (const row of await database.query<ZoneKeyRow>(selectKeysSql)) {
      const keys = loadedKeys.get(row.acquirer_link_id) ?? [];
      keys.push(toStoredKey(row));
      loadedKeys.set(row.acquirer_link_id, keys);
    }
    keysByLink = loadedKeys;
  }

  /** Reloads run one at a time: an older read must not overwrite a newer one. */
  function look(): Promise<void> {
    const reload = lastReload.then(reloadOnce);
    lastReload = reload.catch(() => {});
    return reload;
  }

  async function storeKey(
    link: Iso8583HostLink,
    update: ZoneKeyUpdate,
    keyRef: string,
  ): Promise<void> {
    const keyColumns = [link.organizationId, link.linkId, update.usage];
    const configuredKeyRef = configuredKeyRefFor(link, update.usage) ?? null;
    const [row] = await database.query<{ number: number }>(insertKeySql, [
      ...keyColumns,
      keyRef,
      update.checkValue,
      update.keyIndex,
      configuredKeyRef,
      isoTime(clock.now()),
    ]);
    // On a conflict another process has stored the same key, and its row is valid.
    if (row !== undefined)
      await database.query(deleteOldKeysSql, [...keyColumns, row.number - rememberedKeysPerUsage]);
    await look();
  }

  /** Imports of a link run one at a time, so that one host cannot occupy the HSM. */
  async function importExclusively(link: Iso8583HostLink, update: ZoneKeyUpdate): Promise<boolean> {
    const queue = importQueues.get(link.linkId) ?? { waiting: 0, last: Promise.resolve() };
    if (queue.waiting >= maxWaitingImports) return false;
    importQueues.set(link.linkId, queue);
    queue.waiting += 1;
    const ownImport = queue.last.then(() => importUpdate(link, update));
    queue.last = ownImport;
    try {
      return await ownImport;
    } finally {
      queue.waiting -= 1;
      if (queue.waiting === 0) importQueues.delete(link.linkId);
    }
  }

  async function importUpdate(link: Iso8583HostLink, update: ZoneKeyUpdate): Promise<boolean> {
    const masterKey = link.settings.zoneMasterKey;
    if (masterKey === undefined || hsm === undefined) return false;
    const { usage, algorithm, wrappedKey: wrapped, checkValue } = update;
    const [currentKey, ...olderKeys] = listReceivedKeys(link, usage);
    // A host repeats the current key if it lost the response. An older key is a replay.
    if (currentKey?.checkValue === checkValue) return true;
    if (olderKeys.some((each) => each.checkValue === checkValue)) {
      log.error(
        { link: link.name, usage, checkValue },
        'host sent a replaced key again; the key is rejected',
      );
      return false;
    }
    try {
      const wrappingKeyRef = masterKey.keyRef;
      const key = { wrappingKeyRef, wrapped, checkValue, usage, algorithm };
      const { keyRef } = await hsm.importKey(key);
      await storeKey(link, update, keyRef);
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
    reload: look,
    keyRingFor: (link) => ({
      getPinKey() {
        const { zonePinKey } = link.settings;
        const [newestKey] = listReceivedKeys(link, 'ZonePin');
        if (newestKey === undefined || zonePinKey === undefined) return zonePinKey;
        const { keyRef, keyIndex } = newestKey;
        return { ...zonePinKey, keyRef, ...defined({ keyIndex }) };
      },
      listMacKeyRefs() {
        const { macKey } = link.settings;
        const configuredKeyRefs = macKey === undefined ? [] : [macKey.keyRef];
        const keyRefs = [
          ...listReceivedKeys(link, 'Mac').map(({ keyRef }) => keyRef),
          ...configuredKeyRefs,
        ];
        return keyRefs.slice(0, activeKeysPerUsage);
      },
      shouldRequestKeys: () =>
        link.settings.zoneMasterKey !== undefined &&
        hsm !== undefined &&
        listReceivedKeys(link, 'ZonePin').length + listReceivedKeys(link, 'Mac').length === 0,
      importKey: (update) => importExclusively(link, update),
    }),
  };
}
