// The claim code that a terminal shows, and that a user enters at the platform.
import { makeClaimCode } from '@switchyard/sdk-device';

/** The platform accepts a code for 15 minutes after its last registration, so a shown code is valid for at least 5 minutes. */
const renewalMs = 10 * 60_000;

/**
 * Returns the function that gets the code for a registration; `show` receives each new code.
 *
 * @example const getClaimCode = createClaimCodes(Date.now, (claimCode) => console.log(claimCode));
 */
export function createClaimCodes(now: () => number, show: (claimCode: string) => void) {
  let claimCode: string | undefined;
  let createdAtMs = 0;
  return (): string => {
    if (claimCode === undefined || now() - createdAtMs >= renewalMs) {
      claimCode = makeClaimCode();
      createdAtMs = now();
      show(claimCode);
    }
    return claimCode;
  };
}
