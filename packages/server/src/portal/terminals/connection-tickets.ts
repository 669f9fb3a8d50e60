// Issues and reads the tickets with which a page connects once as a terminal, within two minutes.
import { type Clock, decryptBytes, deriveKey, encryptBytes } from '../../platform/index.ts';
import type { PortalPage } from '../sessions/session-caller.ts';

const goodMs = 120_000;
const charsMax = 1024;

/** The encrypted content of a ticket. */
export type ConnectionTicket = {
  /** Also the last part of the connection address. */
  readonly connectionId: string;
  /** The number of this registration among all registrations of the device. */
  readonly order: number;
  /** The logical device, and its hardware. */
  readonly deviceId: string;
  readonly physicalDeviceId: string;
};

type Sealed = ConnectionTicket & { readonly goodUntil: number };

export type ConnectionTickets = ReturnType<typeof createConnectionTickets>;

/** A ticket is bound to one session and one origin, so it is of no use with any other. */
export function createConnectionTickets({ clock, masterKey }: { clock: Clock; masterKey: Buffer }) {
  const key = deriveKey(masterKey, 'portal-terminals');
  const encryptionContext = ({ organizationId, sessionHash, origin }: PortalPage) =>
    `${organizationId} ${sessionHash.toString('base64url')} ${origin}`;

  return {
    goodSeconds: goodMs / 1000,

    /** Returns text that a header of the handshake may contain. */
    issue(page: PortalPage, ticket: ConnectionTicket): string {
      const sealed: Sealed = { ...ticket, goodUntil: clock.now() + goodMs };
      return encryptBytes(
        key,
        Buffer.from(JSON.stringify(sealed)),
        encryptionContext(page),
      ).toString('base64url');
    },

    /** Returns undefined if the ticket is not valid, has expired, or belongs to another session. */
    read(page: PortalPage, ticketText: string): ConnectionTicket | undefined {
      if (ticketText.length > charsMax || !/^[\w-]+$/.test(ticketText)) return undefined;
      let text: string;
      try {
        text = decryptBytes(
          key,
          Buffer.from(ticketText, 'base64url'),
          encryptionContext(page),
        ).toString();
      } catch {
        return undefined;
      }
      const { goodUntil, ...ticket } = JSON.parse(text) as Sealed;
      return goodUntil <= clock.now() ? undefined : ticket;
    },
  };
}
