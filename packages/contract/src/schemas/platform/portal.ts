// The data that the portal's server sends to its pages: the signed-in user and the visible parts.
import { type Static, Type } from 'typebox';

export const PortalEntry = Type.Union([Type.Literal('portal'), Type.Literal('provider-portal')], {
  description: 'Of acquirers and merchants, and of service providers.',
});
/** One of the two addresses of the portal. */
export type PortalEntry = Static<typeof PortalEntry>;

const text = Type.String();

/** The signed-in user of the portal, with the current permissions and groups. */
export const PortalSession = Type.Object(
  {
    user: Type.Object({
      sub: text,
      username: text,
      name: text,
      email: text,
      givenName: Type.Optional(text),
      familyName: Type.Optional(text),
      locale: Type.Optional(text),
      zoneinfo: Type.Optional(text),
      datetimeFormat: Type.Optional(text),
    }),
    userDomainId: text,
    organizationId: text,
    organizationName: text,
    merchantId: Type.Optional(text),
    merchantName: Type.Optional(text),
    entityType: Type.Union([Type.Literal('tenant'), Type.Literal('merchant')]),
    permissions: Type.Array(text),
    groups: Type.Array(text),
    entries: Type.Array(PortalEntry, {
      description: 'Which of the two portals is for this user, the usual one first.',
    }),
    isOperator: Type.Optional(
      Type.Boolean({ description: 'True where the organisation operates the platform.' }),
    ),
    environment: Type.Union([
      Type.Literal('demo'),
      Type.Literal('test'),
      Type.Literal('production'),
    ]),
    region: text,
    accountUrl: Type.String({
      description: 'Where people change password, codes and passkeys, and see where they are in.',
    }),
    idleSeconds: Type.Integer({ description: 'The session ends so long after the last action.' }),
    expiresAt: Type.String({ description: 'When it ends if nothing more is done.' }),
    endsAt: Type.String({ description: 'The time when the session ends in any case.' }),
  },
  { title: 'PortalSession' },
);
export type PortalSession = Static<typeof PortalSession>;

/** The address to which the browser goes after sign-out. */
export const PortalSignedOut = Type.Object(
  { location: Type.String() },
  { title: 'PortalSignedOut' },
);
export type PortalSignedOut = Static<typeof PortalSignedOut>;
