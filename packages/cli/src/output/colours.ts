const codes = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2, bold: 1 } as const;

export type Colour = keyof typeof codes;
export type Paint = (colour: Colour, text: string) => string;

export function createPaint(isEnabled: boolean): Paint {
  return (colour, text) =>
    isEnabled && text !== '' ? `\u001b[${codes[colour]}m${text}\u001b[0m` : text;
}
