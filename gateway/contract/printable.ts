/** Replaces control characters, which could change what a terminal shows. */
// oxlint-disable-next-line no-control-regex -- they are what this replaces
export const printable = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/gu, '\uFFFD');
