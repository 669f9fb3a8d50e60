// The tickets with which a page connects as a terminal: good for one session, one device, one connection, two minutes.
import { type Clock, decryptBytes, deriveKey, encryptBytes } from '../../platform/index.ts';
import type { PortalPage } from '../session-caller.ts';

const goodMs = 120_000;
const charsMax = 1024;

/** What a ticket holds, sealed. */
export type Ticket = {
  /** Also the end of the address. */
  readonly connectionId: string;
  /** The number of the connection among those of the device. */
  readonly order: number;
  /** The place of the device, and its hardware. */
  readonly deviceId: string;
  readonly physicalDeviceId: string;
};

type Sealed = Ticket & { readonly goodUntil: number };

export type Tickets = ReturnType<typeof createTickets>;

/** A ticket in the hands of another session, or of the same person at another address, opens nothing. */
export function createTickets({ clock, masterKey }: { clock: Clock; masterKey: Buffer }) {
  const key = deriveKey(masterKey, 'portal-terminals');
  const placeOf = ({ organizationId, sessionHash, origin }: PortalPage) =>
    `${organizationId} ${sessionHash.toString('base64url')} ${origin}`;

  return {
    goodSeconds: goodMs / 1000,

    /** Letters that may stand in the header of a handshake. */
    issue(page: PortalPage, ticket: Ticket): string {
      const sealed: Sealed = { ...ticket, goodUntil: clock.now() + goodMs };
      return encryptBytes(key, Buffer.from(JSON.stringify(sealed)), placeOf(page)).toString(
        'base64url',
      );
    },

    /** Undefined for what is none of ours, or of somebody else, or too old. */
    read(page: PortalPage, given: string): Ticket | undefined {
      if (given.length > charsMax || !/^[\w-]+$/.test(given)) return undefined;
      let text: string;
      try {
        text = decryptBytes(key, Buffer.from(given, 'base64url'), placeOf(page)).toString();
      } catch {
        return undefined;
      }
      const { goodUntil, ...ticket } = JSON.parse(text) as Sealed;
      return goodUntil <= clock.now() ? undefined : ticket;
    },
  };
}
