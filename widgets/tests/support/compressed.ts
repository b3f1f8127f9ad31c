// Compresses as gradviz/view/documents/graph.py does.
export async function compressed(document: unknown): Promise<{ format: 1; deflate: string }> {
  const body = new Response(JSON.stringify(document)).body as ReadableStream<
    Uint8Array<ArrayBuffer>
  >;
  const deflated = new Response(body.pipeThrough(new CompressionStream("deflate")));
  const bytes = new Uint8Array(await deflated.arrayBuffer());
  return { format: 1, deflate: btoa(String.fromCharCode(...bytes)) };
}
