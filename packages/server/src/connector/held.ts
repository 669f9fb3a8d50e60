// Keeps what a device says while its point of sale is away: little, and for this one alone.

const messagesMax = 32;
const bytesMax = 256 * 1024;

export type HeldMessage = { readonly data: Buffer; readonly isBinary: boolean };
export type Held = {
  /** False where there is no place for it. */
  keep(message: HeldMessage): boolean;
  /** Everything in the order in which it came; it is kept no longer. */
  take(): readonly HeldMessage[];
};

export function createHeld(): Held {
  let messages: HeldMessage[] = [];
  let bytes = 0;
  return {
    keep(message) {
      if (messages.length >= messagesMax || bytes + message.data.length > bytesMax) return false;
      messages.push(message);
      bytes += message.data.length;
      return true;
    },
    take() {
      const taken = messages;
      messages = [];
      bytes = 0;
      return taken;
    },
  };
}
