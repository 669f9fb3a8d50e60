/** The sign-ins of a user: browser sessions, and sign-ins without a browser. */
import { type Static, Type } from 'typebox';
import { closed } from '../values-and-problems/resource-schemas.ts';
import { Timestamp, wordOf } from '../values-and-problems/value-schemas.ts';

/**
 * A sign-in of a user and its start time.
 *
 * @example
 * const { items } = (await response.json()) as { items: UserSession[] };
 */
export const UserSession = closed(
  {
    sessionId: Type.String({
      maxLength: 64,
      description: 'By which it is ended; it opens nothing.',
      examples: ['Vt2kX0pQnXc3m0rY5dWbA'],
    }),
    kind: wordOf(['Browser', 'Password', 'CustomToken'], {
      description: 'A browser, or an application or device at which a password was typed.',
    }),
    signedInAt: Timestamp,
    lastSeenAt: Timestamp,
    expiresAt: Timestamp,
    methods: Type.Array(
      wordOf(['pwd', 'otp', 'hwk', 'rc'], { description: 'A word of RFC 8176; `rc`: recovery.' }),
      { description: 'The authentication methods of the user.' },
    ),
    clientIds: Type.Array(Type.String(), {
      description: 'The applications that it is used at; the portal is `switchyard-portal`.',
    }),
  },
  'Where a user is signed in.',
);
export type UserSession = Static<typeof UserSession>;
