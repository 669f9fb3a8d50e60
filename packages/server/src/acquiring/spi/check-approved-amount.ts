// Checks of an approval that apply to every acquirer.

/**
 * Returns the approved amount in minor units, or undefined if the response contradicts the request.
 * A partial approval must name its amount; a full approval must name the requested amount or none.
 */
export function checkApprovedAmount(
  requested: number,
  approved: number | undefined,
  isPartialApproval: boolean,
): number | undefined {
  if (approved === undefined) return isPartialApproval ? undefined : requested;
  const isInRange = Number.isSafeInteger(approved) && approved >= 0 && approved <= requested;
  const isZero = approved === 0 && requested > 0;
  const isExpected = isPartialApproval || approved === requested;
  return isInRange && !isZero && isExpected ? approved : undefined;
}

/** Leaves out issuer data that is empty or contains the card number. */
export function safeIssuerData(
  issuerData: string | undefined,
  cardNumber: string | undefined,
): string | undefined {
  if (issuerData === undefined || issuerData === '') return undefined;
  return cardNumber !== undefined && issuerData.includes(cardNumber) ? undefined : issuerData;
}
