/** Schemas of terminal claims: the proof of an organisation that it has a terminal. */
import { type Static, Type } from 'typebox';
import { closed, identifier } from '../values-and-problems/resource-schemas.ts';
import { Timestamp, wordOf } from '../values-and-problems/value-schemas.ts';

/**
 * Whether the organisation has proved that it has the terminal.
 *
 * @example
 * claimStatuses.find((known) => known === claimStatus);
 */
export const claimStatuses = ['Unclaimed', 'Claimed'] as const;
/**
 * One of {@link claimStatuses}.
 *
 * @example
 * const status: ClaimStatus = 'Claimed';
 */
export type ClaimStatus = (typeof claimStatuses)[number];

const claimMethods = ['Certificate', 'Code', 'Operator'] as const;
/**
 * How the terminal was claimed.
 *
 * @example
 * const method: ClaimMethod = 'Certificate';
 */
export type ClaimMethod = (typeof claimMethods)[number];

/**
 * The form of a claim code: eight letters and digits, with or without a hyphen in the middle.
 *
 * @example
 * new RegExp(claimCodeForm).test('K7QM-2F9X'); // true
 */
export const claimCodeForm = '^[0-9A-Za-z]{4}-?[0-9A-Za-z]{4}$';

const claimCode = Type.String({
  pattern: claimCodeForm,
  description: 'The claim code that the terminal shows; small and capital letters are the same.',
  examples: ['K7QM-2F9X'],
});

/**
 * The members of a physical device that say whether it is claimed.
 *
 * @example
 * closed({ ...physicalDeviceInput, ...claimFacts }, 'A physical device.');
 */
export const claimFacts = {
  claimStatus: wordOf(claimStatuses, {
    description:
      'Whether the organisation has proved that it has the terminal. In production only claimed terminals connect.',
  }),
  claimMethod: Type.Optional(
    wordOf(claimMethods, {
      description:
        'Certificate: the terminal showed the certificate of its manufacturer. Code: a person entered the code that the terminal shows. Operator: the operator of the platform decided.',
    }),
  ),
  claimedAt: Type.Optional(Timestamp),
};

/**
 * The claim code on the terminal's display, as a user enters it.
 *
 * @example
 * const body: TerminalClaimInput = { claimCode: 'K7QM-2F9X' };
 */
export const TerminalClaimInput = closed({ claimCode }, 'The code of a terminal.');
export type TerminalClaimInput = Static<typeof TerminalClaimInput>;

/**
 * The claim request of a terminal. It contains the user domain of its organisation with a
 * manufacturer certificate, or its claim code with a certificate of the platform.
 *
 * @example
 * const body: TerminalClaimRequest = { userDomain: 'acme' };
 */
export const TerminalClaimRequest = closed(
  {
    userDomain: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 63,
        pattern: '^[A-Za-z0-9-]+$',
        description: 'The user domain of the organisation that the terminal works for.',
        examples: ['acme'],
      }),
    ),
    claimCode: Type.Optional(claimCode),
  },
  'At least one of the two fields.',
);
export type TerminalClaimRequest = Static<typeof TerminalClaimRequest>;

/**
 * The claim of a terminal, as the terminal reads it.
 *
 * @example
 * const { claimStatus } = (await response.json()) as TerminalClaim;
 */
export const TerminalClaim = closed(
  { claimStatus: claimFacts.claimStatus },
  'The claim of a terminal.',
);
export type TerminalClaim = Static<typeof TerminalClaim>;

const party = (description: string) =>
  closed(
    {
      organizationId: identifier('The organisation.'),
      organizationName: Type.Optional(Type.String()),
      physicalDeviceId: identifier('Its device.'),
      method: wordOf(claimMethods),
    },
    description,
  );

const conflictStatuses = ['Open', 'Settled', 'Withdrawn'] as const;
const settlements = ['KeepHolder', 'GiveToClaimant'] as const;

/**
 * Two organisations have proved that they have the same terminal. Only the operator sees it.
 *
 * @example
 * const { holder, claimant } = (await response.json()) as ClaimConflict;
 */
export const ClaimConflict = closed(
  {
    conflictId: identifier('The conflict.'),
    tsn: Type.String({ description: 'The terminal serial number: MAKE_MODEL-serial.' }),
    serialNumber: Type.String(),
    make: Type.String(),
    model: Type.String(),
    status: wordOf(conflictStatuses, {
      description:
        'Withdrawn: the claimant deleted its device, or the holder gave up the terminal and the claimant has it.',
    }),
    decision: Type.Optional(wordOf(settlements)),
    holder: party('The organisation that had the claim when the conflict began.'),
    claimant: party(
      'The organisation that proved the same later, or lost its claim to a certificate.',
    ),
    createdAt: Timestamp,
    settledAt: Type.Optional(Timestamp),
  },
  'A conflict about a terminal.',
);
export type ClaimConflict = Static<typeof ClaimConflict>;

/**
 * The decision of the operator.
 *
 * @example
 * const body: ClaimSettlement = { decision: 'GiveToClaimant' };
 */
export const ClaimSettlement = closed(
  {
    decision: wordOf(settlements, {
      description:
        'KeepHolder leaves the claim as it is. GiveToClaimant moves it; the terminals of the former holder lose their connections.',
    }),
  },
  'The decision about a conflict.',
);
export type ClaimSettlement = Static<typeof ClaimSettlement>;

/**
 * The filters of the list of conflicts.
 *
 * @example
 * Type.Object({ ...pageQuery, ...claimConflictFilters });
 */
export const claimConflictFilters = { status: Type.Optional(wordOf(conflictStatuses)) };
