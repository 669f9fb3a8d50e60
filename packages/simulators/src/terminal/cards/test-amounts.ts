// Amounts that ask the terminal for something, and what can be set to go wrong in it.

/**
 * What goes wrong in the next payment.
 *
 * @example
 * terminal.setFault('DropAfter');
 */
export type TerminalFault =
  | 'DropBefore'
  | 'DropAfter'
  | 'Delay'
  | 'Duplicate'
  | 'Garbage'
  | 'Reboot'
  | 'Unreachable';

type Story = {
  readonly says: string;
  /** The name of the card that is shown. */
  readonly card?: string;
  readonly fault?: TerminalFault;
};

/**
 * The last four digits of an amount in minor units, and what they ask for. 9000 to 9099 are for the
 * host of the acquirer.
 *
 * @example
 * amountStories['8012']?.says; // 'the connection breaks off after the payment was approved'
 */
export const amountStories: Readonly<Record<string, Story>> = {
  '8001': { says: 'the card is taken out too early', card: 'removed' },
  '8002': { says: 'the holder presses Stop', card: 'cancels' },
  '8003': { says: 'nobody shows a card', card: 'absent' },
  '8004': { says: 'the PIN is wrong, always', card: 'wrong-pin' },
  '8005': { says: 'the PIN is wrong once', card: 'wrong-pin-once' },
  '8006': { says: 'the card cannot be read', card: 'unreadable' },
  '8007': { says: 'the chip declines at once', card: 'declines' },
  '8008': { says: 'the chip declines what was approved', card: 'declines-late' },
  '8009': { says: 'the card is taken out when all was approved', card: 'removed-late' },
  '8010': { says: 'the chip approves by itself, and the sale is uploaded', card: 'offline' },
  '8011': { says: 'the connection breaks off before anything is asked for', fault: 'DropBefore' },
  '8012': {
    says: 'the connection breaks off after the payment was approved',
    fault: 'DropAfter',
  },
  '8013': { says: 'the answer comes late', fault: 'Delay' },
  '8014': { says: 'the answer comes twice', fault: 'Duplicate' },
  '8015': { says: 'the answer is garbage', fault: 'Garbage' },
  '8016': {
    says: 'the terminal starts anew once the payment was approved',
    fault: 'Reboot',
  },
  '8017': { says: 'the platform cannot be reached', fault: 'Unreachable' },
};

/** Every fault there is. */
export const terminalFaults = [
  'DropBefore',
  'DropAfter',
  'Delay',
  'Duplicate',
  'Garbage',
  'Reboot',
  'Unreachable',
] as const satisfies readonly TerminalFault[];

const storyModulus = 10_000;

/** What an amount asks for; nothing where it is an ordinary one. */
export function storyOf(amount: number): Story {
  return amountStories[String(amount % storyModulus).padStart(4, '0')] ?? { says: '' };
}
