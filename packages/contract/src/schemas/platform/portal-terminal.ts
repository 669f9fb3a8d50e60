// The simulated terminals of the demo: their screen for a page of the portal, and the input of its user.
import { type Static, Type } from 'typebox';
import { pageOf, Uuid } from '../values-and-problems/value-schemas.ts';

const text = Type.String({ maxLength: 100 });

/** A logical device whose terminal a page of the demo can simulate. */
export const PortalTerminal = Type.Object(
  { deviceId: Uuid, storeId: Uuid, name: Type.String() },
  { title: 'PortalTerminal' },
);
/** The type of {@link PortalTerminal}. */
export type PortalTerminal = Static<typeof PortalTerminal>;

/** A page of {@link PortalTerminal}. */
export const PortalTerminalList = pageOf(PortalTerminal);
/** The type of {@link PortalTerminalList}. */
export type PortalTerminalList = Static<typeof PortalTerminalList>;

/** How a simulated terminal reads a card. */
export const CardEntry = Type.Union(
  [Type.Literal('Tap'), Type.Literal('Chip'), Type.Literal('MagStripe'), Type.Literal('Keyed')],
  { description: 'Contactless, chip, magnetic stripe, or a typed card number.' },
);
/** The type of {@link CardEntry}. */
export type CardEntry = Static<typeof CardEntry>;

const closed = { additionalProperties: false } as const;

/** An action of the cardholder at a simulated terminal. */
export const CardholderInput = Type.Union(
  [
    Type.Object(
      {
        type: Type.Literal('Card'),
        name: text,
        entry: CardEntry,
        number: Type.Optional(Type.String({ pattern: '^[0-9]{12,19}$' })),
      },
      closed,
    ),
    Type.Object(
      { type: Type.Literal('Pin'), digits: Type.String({ pattern: '^[0-9]{4,12}$' }) },
      closed,
    ),
    Type.Object({ type: Type.Literal('Signature') }, closed),
    Type.Object({ type: Type.Literal('Cancel') }, closed),
  ],
  { title: 'CardholderInput' },
);
/** The type of {@link CardholderInput}. */
export type CardholderInput = Static<typeof CardholderInput>;

/** An action of the page: an input of the cardholder, or a change of the connection. */
export const PortalTerminalAction = Type.Union(
  [
    CardholderInput,
    Type.Object({ type: Type.Literal('Connect') }, closed),
    Type.Object({ type: Type.Literal('Disconnect') }, closed),
    Type.Object({ type: Type.Literal('TakeOver') }, closed),
  ],
  { title: 'PortalTerminalAction' },
);
/** The type of {@link PortalTerminalAction}. */
export type PortalTerminalAction = Static<typeof PortalTerminalAction>;

/** The input for which a simulated terminal waits. */
export type CardholderPrompt =
  | { readonly type: 'Card'; readonly entries: readonly CardEntry[] }
  | { readonly type: 'Pin'; readonly triesLeft: number }
  | { readonly type: 'Signature' };

/** A test card that a person can present at a simulated terminal. */
export type WalletCard = {
  readonly name: string;
  readonly brand: string;
  readonly number: string;
  readonly entries: readonly CardEntry[];
};

/** The state of a simulated terminal, for the page that controls it. */
export type PortalTerminalView = {
  readonly tsn: string;
  /** `IdentityInUse`: another terminal connects with its identity. */
  readonly connection:
    | 'Connecting'
    | 'Online'
    | 'Reconnecting'
    | 'Disconnected'
    | 'IdentityInUse'
    | 'Refused'
    | 'ControlledByOtherPage';
  /** The error code with which the connector rejects the terminal. */
  readonly errorCode?: string;
  readonly cards: readonly WalletCard[];
  /** Absent with `ControlledByOtherPage`. */
  readonly screen?: {
    readonly state: string;
    readonly lines: readonly string[];
    readonly prompt?: CardholderPrompt;
  };
};
