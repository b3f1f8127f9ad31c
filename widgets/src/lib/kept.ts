// What is kept in the storage of this browser, as JSON; where there is none, nothing is.

/** The value at a place; null where none is. */
export function keptAt(place: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(place) ?? "null");
  } catch {
    return null;
  }
}

/** Keeps a value, or with undefined none; says whether it is kept. */
export function keepAt(place: string, value: unknown): boolean {
  try {
    if (value === undefined) localStorage.removeItem(place);
    else localStorage.setItem(place, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** Forgets all places that begin so, and says how many there were. */
export function forgetFrom(prefix: string): number {
  try {
    const places = Object.keys(localStorage).filter((place) => place.startsWith(prefix));
    for (const place of places) localStorage.removeItem(place);
    return places.length;
  } catch {
    return 0;
  }
}
