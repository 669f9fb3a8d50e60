/** Gives the browser a file to keep. */
export async function saveFile(answer: Response, fileName: string): Promise<void> {
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(address);
}
