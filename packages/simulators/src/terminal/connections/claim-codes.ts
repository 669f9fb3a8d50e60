// The claim code that the terminal shows: a person enters it at the platform.
import { makeClaimCode } from '@switchyard/sdk-device';

/** The platform takes a code for 15 minutes after it has last come: each code is shown for a while before it ends. */
const renewalMs = 10 * 60_000;

/** Gives the code for a registration; `show` gets each new code. */
export function createClaimCodes(now: () => number, show: (claimCode: string) => void) {
  let claimCode: string | undefined;
  let madeAt = 0;
  return (): string => {
    if (claimCode === undefined || now() - madeAt >= renewalMs) {
      claimCode = makeClaimCode();
      madeAt = now();
      show(claimCode);
    }
    return claimCode;
  };
}
