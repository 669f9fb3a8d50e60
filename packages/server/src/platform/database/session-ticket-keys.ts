// Keys of TLS session tickets that all processes share, so that a client resumes its session at any of them.
import { hash, randomBytes } from 'node:crypto';
import type { Server } from 'node:tls';
import { createPoller } from '../concurrency/poller.ts';
import { decryptBytes, encryptBytes } from '../crypto/authenticated-encryption.ts';
import { deriveKey } from '../crypto/derive-key.ts';
import type { Log } from '../observability/log.ts';
import type { Queries } from './queries.ts';

/** Of TLS 1.2, a ticket contains the key of its connection: the key of the ticket must not live long. */
const periodSeconds = 43_200;
const pollMs = 3_600_000;
const secretBytes = 32;
const ticketKeyNameBytes = 16;
const purpose = 'tls-ticket-keys';

const periodText = `floor(extract(epoch FROM now()) / ${periodSeconds})`;
const insertText = `INSERT INTO tls_ticket_keys (period, key_sealed)
  VALUES (${periodText}, $1) ON CONFLICT DO NOTHING`;
const deleteText = `DELETE FROM tls_ticket_keys WHERE period < ${periodText}`;
const selectText = 'SELECT key_sealed AS sealed FROM tls_ticket_keys ORDER BY period DESC LIMIT 1';

export type SessionTicketKeys = {
  /**
   * Sets the keys of a server now and at each change.
   *
   * @param identity the certificate and the authorities of the server: a ticket is valid only for the same
   */
  attach(server: Pick<Server, 'setTicketKeys'>, identity: readonly string[]): void;
  /** Reads the current key, or creates it. */
  refresh(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
};

type Deps = { readonly database: Queries; readonly masterKey: Buffer; readonly log: Log };

/** 48 bytes as Node expects them: the name of the key, and the keys for HMAC and AES. */
function ticketKeys(secret: Buffer, identity: readonly string[]): Buffer {
  const context = hash('sha256', JSON.stringify(identity));
  const name = deriveKey(secret, `name ${context}`).subarray(0, ticketKeyNameBytes);
  return Buffer.concat([name, deriveKey(secret, `keys ${context}`)]);
}

/** @example const tickets = createSessionTicketKeys({ database, masterKey, log }); await tickets.start(); */
export function createSessionTicketKeys({ database, masterKey, log }: Deps): SessionTicketKeys {
  const sealingKey = deriveKey(masterKey, purpose);
  const attached: (() => void)[] = [];
  let secret: Buffer | undefined;

  async function refresh(): Promise<void> {
    const created = encryptBytes(sealingKey, randomBytes(secretBytes), purpose);
    await database.query(insertText, [created]);
    await database.query(deleteText);
    const [row] = await database.query<{ sealed: Buffer }>(selectText);
    if (row === undefined) return;
    const current = decryptBytes(sealingKey, row.sealed, purpose);
    if (secret !== undefined && current.equals(secret)) return;
    secret = current;
    for (const apply of attached) apply();
  }

  const poller = createPoller({
    pollMs,
    poll: async () => {
      await refresh();
      return false;
    },
    onError: (error) => log.warn({ err: error }, 'the keys of TLS session tickets are not current'),
  });

  return {
    attach(server, identity) {
      const apply = () => secret && server.setTicketKeys(ticketKeys(secret, identity));
      attached.push(apply);
      apply();
    },
    refresh,
    async start() {
      await refresh();
      poller.start();
    },
    stop: poller.stop,
  };
}
