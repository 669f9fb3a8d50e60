// Keeps what a device says while its point of sale is away: little, for this one alone, and of all not much.

const messagesMax = 32;
const bytesMax = 256 * 1024;
/** Of all sessions of the process. */
const roomBytes = 64 * 1024 * 1024;

export type HeldMessage = { readonly data: Buffer; readonly isBinary: boolean };
export type Held = {
  /** False where there is no place for it. */
  keep(message: HeldMessage): boolean;
  /** Everything in the order in which it came; it is kept no longer. */
  take(): readonly HeldMessage[];
};

/** What all sessions together keep. */
export type HeldRoom = { free: number };

export const createHeldRoom = (bytes = roomBytes): HeldRoom => ({ free: bytes });

/** @example const held = createHeld(createHeldRoom()); */
export function createHeld(room: HeldRoom): Held {
  let messages: HeldMessage[] = [];
  let bytes = 0;
  return {
    keep(message) {
      const { length } = message.data;
      if (messages.length >= messagesMax || bytes + length > bytesMax) return false;
      if (length > room.free) return false;
      messages.push(message);
      bytes += length;
      room.free -= length;
      return true;
    },
    take() {
      const taken = messages;
      room.free += bytes;
      messages = [];
      bytes = 0;
      return taken;
    },
  };
}
